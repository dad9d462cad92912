#include "common/digest.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

TEST(Sha256Hex, MatchesTheStandardsVectors) {
  // FIPS 180-4 examples.
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

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
