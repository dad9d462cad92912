#include "analysis/explanations.h"

#include <gtest/gtest.h>

namespace assay::analysis {
namespace {

// Returns runs that differ in one number.
std::vector<RunConditions> Runs(const std::string& field, const std::vector<double>& values) {
  std::vector<RunConditions> runs;
  for (const double value : values) runs.push_back({{{field, value}}, {}});
  return runs;
}

std::vector<RunConditions> Texts(const std::string& field, const std::vector<std::string>& texts) {
  std::vector<RunConditions> runs;
  for (const std::string& text : texts) runs.push_back({{}, {{field, text}}});
  return runs;
}

TEST(ExplainStep, ClockThatFell_IsNamedWithItsMedians) {
  const auto found = ExplainStep(Runs("sm_clock_mhz", {1980, 1975, 1980, 1980}),
                                 Runs("sm_clock_mhz", {1920, 1915, 1920}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].field, "sm_clock_mhz");
  EXPECT_EQ(found[0].before, 1980);
  EXPECT_EQ(found[0].after, 1920);
}

TEST(ExplainStep, SmallOrNoisyNumbers_AreOmitted) {
  EXPECT_TRUE(ExplainStep(Runs("sm_clock_mhz", {1980, 1980, 1980}),
                          Runs("sm_clock_mhz", {1965, 1965, 1965}))
                  .empty());
  // The runs before differ by as much as the medians.
  EXPECT_TRUE(ExplainStep(Runs("sm_clock_mhz", {1980, 1900, 1980, 1910, 1990}),
                          Runs("sm_clock_mhz", {1920, 1920, 1920}))
                  .empty());
  EXPECT_TRUE(
      ExplainStep(Runs("power_watts", {600, 600}), Runs("power_watts", {615, 615})).empty());
  EXPECT_FALSE(
      ExplainStep(Runs("power_watts", {600, 600}), Runs("power_watts", {650, 650})).empty());
  EXPECT_TRUE(ExplainStep(Runs("load_average", {2, 2}), Runs("load_average", {2.8, 2.8})).empty());
  EXPECT_FALSE(ExplainStep(Runs("load_average", {2, 2}), Runs("load_average", {9, 9})).empty());
  EXPECT_FALSE(ExplainStep(Runs("load_average", {0, 0}), Runs("load_average", {9, 9})).empty());
}

TEST(ExplainStep, TextOfMostRuns_IsCompared) {
  const auto found = ExplainStep(Texts("gpu.kernel", {"ampere_128x128", "ampere_128x128", "other"}),
                                 Texts("gpu.kernel", {"cutlass_64x64", "cutlass_64x64"}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text_before, "ampere_128x128");
  EXPECT_EQ(found[0].text_after, "cutlass_64x64");
  EXPECT_FALSE(found[0].before.has_value());
  EXPECT_TRUE(
      ExplainStep(Texts("gpu.kernel", {"a", "a", "b"}), Texts("gpu.kernel", {"a", "b", "a"}))
          .empty());
}

TEST(ExplainStep, TextThatAppears_IsNamed) {
  std::vector<RunConditions> before(3);
  const auto found = ExplainStep(
      before, Texts("throttle_reason", {"sw_power_cap", "sw_power_cap", "sw_power_cap"}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text_before, "");
  EXPECT_EQ(found[0].text_after, "sw_power_cap");
}

TEST(ExplainStep, NumberOfOneSideOnly_IsOmitted) {
  EXPECT_TRUE(ExplainStep({{}, {}}, Runs("power_watts", {600, 600})).empty());
  EXPECT_TRUE(ExplainStep({}, {}).empty());
}

TEST(ExplainStep, TextsComeFirstThenClocksThenTheRest) {
  const RunConditions before{{{"power_watts", 700}, {"sm_clock_mhz", 1980}, {"load_average", 1}},
                             {{"throttle_reason", "none"}}};
  const RunConditions after{{{"power_watts", 500}, {"sm_clock_mhz", 1900}, {"load_average", 20}},
                            {{"throttle_reason", "hw_slowdown"}}};
  const auto found = ExplainStep({before, before, before}, {after, after, after});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].field, "throttle_reason");
  EXPECT_EQ(found[1].field, "sm_clock_mhz");
  EXPECT_EQ(found[2].field, "load_average");
  EXPECT_EQ(found[3].field, "power_watts");
}

}  // namespace
}  // namespace assay::analysis
