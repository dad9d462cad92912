#include "common/difference.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string Told(const std::vector<std::string>& texts) {
  return DifferenceText("NCCL", texts,
                        [](const std::string& text, const std::vector<size_t>& positions) {
                          std::string told = text + " at";
                          for (const size_t one : positions) told += " " + std::to_string(one);
                          return told;
                        });
}

TEST(DifferenceTest, TellsWhoSaysWhatInTheirOrder) {
  EXPECT_EQ(Told({"2.9", "2.7", "2.9", "2.8", "2.7"}),
            "NCCL is 2.9 at 0 2 and 2.7 at 1 4 and 2.8 at 3");
}

TEST(DifferenceTest, IsEmptyIfAllSayTheSame) {
  EXPECT_EQ(Told({"2.9", "2.9"}), "");
  EXPECT_EQ(Told({"2.9"}), "");
  EXPECT_EQ(Told({}), "");
}

}  // namespace
}  // namespace assay
