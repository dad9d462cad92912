#include "analysis/steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "tests/unit/analysis/noise.h"

namespace assay::analysis {
namespace {

// Returns normal noise of 0.3% with a step after `before` runs.
std::vector<double> WithStep(size_t before, size_t after, double size, uint64_t seed = 1) {
  std::vector<double> values = Noise(NoiseKind::kIid, seed, 0.3).Take(before + after);
  for (size_t i = before; i < values.size(); ++i) values[i] += size;
  return values;
}

TEST(FindSteps, FewOrEqualValues_HaveNoSteps) {
  for (const size_t size : {0, 1, 2, 9, 10, 11, 50, 51, 200}) {
    EXPECT_TRUE(FindSteps(std::vector<double>(size, 0.5), {}, 1).empty()) << size;
  }
  EXPECT_TRUE(FindSteps(Noise(NoiseKind::kIid, 3).Take(60), {}, 1).empty());
}

TEST(FindSteps, OneStep_IsFoundAtItsPlaceWithItsSize) {
  const auto steps = FindSteps(WithStep(30, 12, -0.05), {}, 1);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 30U);
  EXPECT_NEAR(steps[0].change(), -0.05, 0.004);
  const auto faster = FindSteps(WithStep(30, 12, 0.05), {}, 1);
  ASSERT_EQ(faster.size(), 1U);
  EXPECT_NEAR(faster[0].change(), 0.05, 0.004);
}

TEST(FindSteps, StepBetweenEqualValues_IsFound) {
  std::vector<double> values(20, 3.0);
  values.insert(values.end(), 10, 2.9);
  const auto steps = FindSteps(values, {}, 1);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 20U);
  EXPECT_DOUBLE_EQ(steps[0].before, 3.0);
  EXPECT_DOUBLE_EQ(steps[0].after, 2.9);
}

TEST(FindSteps, HugeStep_IsFound) {
  const auto steps = FindSteps(WithStep(15, 15, -12), {}, 1);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 15U);
}

// A segment has at least five values, and the step must also be found without the newest value.
TEST(FindSteps, StepAtTheEnd_NeedsSixValuesAfterIt) {
  EXPECT_TRUE(FindSteps(WithStep(30, 4, -0.05), {}, 1).empty());
  EXPECT_TRUE(FindSteps(WithStep(30, 2, -0.05), {}, 1).empty());
  EXPECT_EQ(FindSteps(WithStep(30, 6, -0.05), {}, 1).size(), 1U);
  EXPECT_EQ(FindSteps(WithStep(30, 7, -0.05), {}, 1).size(), 1U);
}

TEST(FindSteps, StepAtTheBeginning_NeedsFiveValuesBeforeIt) {
  EXPECT_TRUE(FindSteps(WithStep(2, 30, -0.05), {}, 1).empty());
  const auto steps = FindSteps(WithStep(5, 30, -0.05), {}, 1);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 5U);
}

TEST(FindSteps, StepThatOnlyTheNewestValueShows_WaitsForAnotherLook) {
  std::vector<double> values = WithStep(30, 12, -0.05);
  size_t first_found = 0;
  for (size_t n = 31; n <= values.size() && first_found == 0; ++n) {
    if (!FindSteps(std::span(values).first(n), {}, 1).empty()) first_found = n;
  }
  EXPECT_EQ(first_found, 36U);
}

TEST(FindSteps, OnlyTheNewestFiftyValuesCount) {
  EXPECT_EQ(FindSteps(WithStep(30, 44, -0.05), {}, 1).size(), 1U);
  EXPECT_TRUE(FindSteps(WithStep(30, 48, -0.05), {}, 1).empty());
  const auto steps = FindSteps(WithStep(80, 20, -0.05), {}, 1);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 80U);
}

TEST(FindSteps, SlowPhase_HasTwoSteps) {
  std::vector<double> values = WithStep(40, 0, 0);
  for (size_t i = 15; i < 25; ++i) values[i] -= 0.05;
  const auto steps = FindSteps(values, {}, 1);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].first, 15U);
  EXPECT_EQ(steps[1].first, 25U);
  EXPECT_NEAR(steps[0].after, -0.05, 0.003);
  EXPECT_NEAR(steps[1].after, 0, 0.003);
}

TEST(FindSteps, OneStepIsFoundOnceInEachOfFiftyLooks) {
  const std::vector<double> values = WithStep(30, 40, -0.05);
  for (size_t runs = 36; runs <= values.size(); ++runs) {
    const auto steps = FindSteps(std::span(values).first(runs), {}, 1);
    ASSERT_EQ(steps.size(), 1U) << runs;
    EXPECT_EQ(steps[0].first, 30U) << runs;
  }
}

TEST(FindSteps, SmallChanges_AreNotSteps) {
  EXPECT_TRUE(FindSteps(WithStep(25, 25, -0.015), {}, 1).empty());
  EXPECT_EQ(FindSteps(WithStep(25, 25, -0.015), {0.01}, 1).size(), 1U);
  // A change below two spreads.
  std::vector<double> noisy = Noise(NoiseKind::kIid, 5, 3).Take(50);
  for (size_t i = 25; i < 50; ++i) noisy[i] -= 0.045;
  EXPECT_TRUE(FindSteps(noisy, {}, 1).empty());
}

TEST(FindSteps, EqualArguments_GiveEqualSteps) {
  const std::vector<double> values = WithStep(22, 20, -0.03, 9);
  const auto one = FindSteps(values, {}, 42);
  const auto other = FindSteps(values, {}, 42);
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(one[0].first, other[0].first);
}

TEST(FindSteps, SingleSlowRuns_AreNotSteps) {
  std::vector<double> values = WithStep(40, 0, 0);
  for (const size_t i : {7, 20, 33, 39}) values[i] -= 0.5;
  EXPECT_TRUE(FindSteps(values, {}, 1).empty());
}

TEST(JudgeNewest, NeedsTenEarlierValues) {
  EXPECT_FALSE(JudgeNewest({}, 0.01).has_value());
  EXPECT_FALSE(JudgeNewest(std::vector<double>(10, 1.0), 0.01).has_value());
  const auto same = JudgeNewest(std::vector<double>(11, 1.0), 0.01);
  ASSERT_TRUE(same.has_value());
  EXPECT_NEAR(same->change, 0, 1e-12);
  EXPECT_FALSE(same->suspect);
}

// The t interval at 1e-4 with nine degrees of freedom: 6.594 deviations, times sqrt(1.1).
TEST(JudgeNewest, Limit_IsStudentsPredictionInterval) {
  std::vector<double> values;
  for (int i = 0; i < 10; ++i) values.push_back(i % 2 == 0 ? 0.01 : -0.01);
  const double limit = 0.01 * std::sqrt(10.0 / 9) * 6.5937 * std::sqrt(1.1);
  values.push_back(-limit * 0.999);
  EXPECT_FALSE(JudgeNewest(values, 0.001)->suspect);
  values.back() = -limit * 1.001;
  EXPECT_TRUE(JudgeNewest(values, 0.001)->suspect);
  EXPECT_NEAR(JudgeNewest(values, 0.001)->change, -limit * 1.001, 1e-12);
  values.back() = limit * 2;  // Faster.
  EXPECT_FALSE(JudgeNewest(values, 0.001)->suspect);
}

TEST(JudgeNewest, SmallChangesAndNoisyRuns_AreNotSuspect) {
  std::vector<double> values(20, 1.0);
  values.push_back(0.991);
  EXPECT_FALSE(JudgeNewest(values, 0.001)->suspect);
  values.back() = 0.985;
  EXPECT_TRUE(JudgeNewest(values, 0.001)->suspect);
  EXPECT_FALSE(JudgeNewest(values, 0.006)->suspect);  // Three times the noise is 1.8%.
}

class ConfirmTest : public testing::Test {
 protected:
  static std::vector<double> Segment() { return Noise(NoiseKind::kIid, 4, 0.3).Take(20); }

  const RerunEvidence new_{Segment(), {}};
  const RerunEvidence begun_{Segment(), {-0.05, -0.05}};
  const RerunEvidence slow_{Segment(), {-0.05, -0.049, -0.051, -0.05, -0.05}};
  const RerunEvidence normal_{Segment(), {0.001, -0.002, 0}};
};

TEST_F(ConfirmTest, DecisionTable) {
  const double change = -0.05;
  EXPECT_EQ(Confirm(change, new_, nullptr), Confirmation::kRerunPlace);
  EXPECT_EQ(Confirm(change, begun_, &normal_), Confirmation::kRerunPlace);
  EXPECT_EQ(Confirm(change, normal_, nullptr), Confirmation::kCleared);
  EXPECT_EQ(Confirm(change, normal_, &slow_), Confirmation::kCleared);
  EXPECT_EQ(Confirm(change, slow_, nullptr), Confirmation::kNoPeer);
  EXPECT_EQ(Confirm(change, slow_, &new_), Confirmation::kRerunPeer);
  EXPECT_EQ(Confirm(change, slow_, &begun_), Confirmation::kRerunPeer);
  EXPECT_EQ(Confirm(change, slow_, &normal_), Confirmation::kPlaceOnly);
  EXPECT_EQ(Confirm(change, slow_, &slow_), Confirmation::kFleet);
}

TEST_F(ConfirmTest, LessThanHalfOfTheChange_IsCleared) {
  EXPECT_EQ(Confirm(-0.11, slow_, nullptr), Confirmation::kCleared);
}

TEST_F(ConfirmTest, FasterRerunsDoNotConfirmASlowerRun) {
  EXPECT_EQ(Confirm(0.05, slow_, nullptr), Confirmation::kCleared);
  const RerunEvidence fast{Segment(), {0.05, 0.049, 0.051, 0.05, 0.05}};
  EXPECT_EQ(Confirm(0.05, fast, nullptr), Confirmation::kNoPeer);
  EXPECT_EQ(Confirm(-0.05, fast, nullptr), Confirmation::kCleared);
}

// The mean of the reruns is as slow as the change, but only because of one of them.
TEST_F(ConfirmTest, OneVerySlowRerun_DoesNotConfirm) {
  RerunEvidence spike{Segment(), {0, -0.30, 0.001}};
  EXPECT_EQ(Confirm(-0.05, spike, nullptr), Confirmation::kRerunPlace);
  while (spike.reruns.size() < kMostReruns) spike.reruns.push_back(0);
  EXPECT_EQ(Confirm(-0.05, spike, nullptr), Confirmation::kCleared);
}

TEST_F(ConfirmTest, OneFastRerunOfEight_DoesNotClear) {
  RerunEvidence evidence{Segment(), {-0.05, -0.05, 0, -0.05, -0.05}};
  EXPECT_EQ(Confirm(-0.05, evidence, nullptr), Confirmation::kRerunPlace);
  while (evidence.reruns.size() < 8) evidence.reruns.push_back(-0.05);
  EXPECT_EQ(Confirm(-0.05, evidence, nullptr), Confirmation::kNoPeer);
}

TEST_F(ConfirmTest, ThreeSlowReruns_DoNotSuffice) {
  RerunEvidence evidence{Segment(), {-0.05, -0.05, -0.05}};
  EXPECT_EQ(Confirm(-0.05, evidence, nullptr), Confirmation::kRerunPlace);
}

TEST_F(ConfirmTest, UnclearReruns_AreRepeatedUpToALimit) {
  RerunEvidence unclear{Noise(NoiseKind::kIid, 4, 2).Take(12), {-0.03, -0.03, -0.03}};
  EXPECT_EQ(Confirm(-0.04, unclear, nullptr), Confirmation::kRerunPlace);
  unclear = {Noise(NoiseKind::kIid, 4, 4).Take(12), std::vector<double>(kMostReruns, -0.03)};
  EXPECT_EQ(Confirm(-0.04, unclear, nullptr), Confirmation::kCleared);
}

TEST_F(ConfirmTest, SegmentsOfNoneOrOneOrEqualValues_AreHandled) {
  const std::vector<double> reruns(kConfirmingReruns, -0.05);
  EXPECT_EQ(Confirm(-0.05, {{0.0}, reruns}, nullptr), Confirmation::kNoPeer);
  EXPECT_EQ(Confirm(-0.05, {std::vector<double>(5, 0.0), reruns}, nullptr), Confirmation::kNoPeer);
  EXPECT_EQ(Confirm(-0.05, {std::vector<double>(5, -0.05), reruns}, nullptr),
            Confirmation::kCleared);
  EXPECT_EQ(Confirm(-0.05, {{}, reruns}, nullptr), Confirmation::kNoPeer);
}

}  // namespace
}  // namespace assay::analysis
