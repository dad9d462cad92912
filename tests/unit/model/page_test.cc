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

struct Item {
  size_t ByteSizeLong() const { return 1; }
};

TEST(PageFiller, TokenHoldsTheTextOfTheLastItem) {
  PageFiller<Item> filler('n', {1, ""});
  EXPECT_TRUE(filler.Add(Item(), "a/b 7"));
  EXPECT_FALSE(filler.Add(Item(), "c"));
  EXPECT_EQ(*ParseTextToken('n', std::move(filler).Take().next_token), "a/b 7");
  EXPECT_EQ(*ParseTextToken('n', ""), "");
  EXPECT_EQ(ParseTextToken('n', "a").status().reason(), Reason::kBadPageToken);
}

}  // namespace
}  // namespace assay
