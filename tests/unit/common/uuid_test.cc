#include "common/uuid.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

TEST(NewUuid, IsWellFormedAndFresh) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = NewUuid();
    EXPECT_TRUE(IsUuid(uuid)) << uuid;
    EXPECT_EQ(uuid[14], '4');
    EXPECT_TRUE(seen.insert(uuid).second);
  }
  EXPECT_FALSE(IsUuid("not-a-uuid"));
  EXPECT_FALSE(IsUuid("ABCDEFAB-1234-4234-8234-123456789012"));
}

}  // namespace
}  // namespace assay
