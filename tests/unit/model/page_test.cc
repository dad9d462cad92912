#include "model/page.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(PageToken, IsRefusedUnlessMadeForTheSameList) {
  EXPECT_EQ(*ParsePageToken('r', "", 9), 9);
  EXPECT_EQ(*ParsePageToken('r', MakePageToken('r', 42), 9), 42);
  for (const char* bad : {"42", "r", "r-1", "c42", "r4x", "r99999999999999999999"}) {
    EXPECT_EQ(ParsePageToken('r', bad, 9).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace assay
