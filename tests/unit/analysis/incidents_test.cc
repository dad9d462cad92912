#include "analysis/incidents.h"

#include <gtest/gtest.h>

namespace assay::analysis {
namespace {

constexpr double kDay = 86400;

// A step of a case on one GPU, without a change of versions.
SteppedCase Step(const std::string& case_id, const std::string& node, const std::string& gpu,
                 double day = 1) {
  return {(day - 1) * kDay, day * kDay, case_id, "550", "550", "1.0", "1.0", {gpu}, {node}};
}

std::string Name(const char* prefix, size_t number) { return prefix + std::to_string(number); }

TEST(GroupIncidents, NoSteps_NoIncidents) { EXPECT_TRUE(GroupIncidents({}).empty()); }

// The upgrade takes three weeks.
TEST(GroupIncidents, DriverOn64GpusAnd12Cases_IsOneIncident) {
  std::vector<SteppedCase> steps;
  for (size_t gpu = 0; gpu < 64; ++gpu) {
    for (size_t one = 0; one < 12; ++one) {
      SteppedCase step = Step(Name("case", one), Name("node", gpu / 8), Name("GPU-", gpu),
                              static_cast<double>(gpu / 3 + 1));
      step.driver_after = "575";
      steps.push_back(step);
    }
  }
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kDriver);
  EXPECT_EQ(incidents[0].from, "550");
  EXPECT_EQ(incidents[0].to, "575");
  EXPECT_EQ(incidents[0].members.size(), 768U);
}

TEST(GroupIncidents, DriverExplainsBeforeTheAgent) {
  std::vector<SteppedCase> steps{Step("a", "n1", "g1"), Step("b", "n2", "g2"),
                                 Step("c", "n3", "g3")};
  for (SteppedCase& step : steps) step.agent_after = "1.1";
  steps[0].driver_after = "575";
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 2U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kDriver);
  EXPECT_EQ(incidents[0].members, std::vector<size_t>{0});
  EXPECT_EQ(incidents[1].kind, CauseKind::kAgent);
  EXPECT_EQ(incidents[1].to, "1.1");
  EXPECT_EQ(incidents[1].members, (std::vector<size_t>{1, 2}));
}

TEST(GroupIncidents, UnknownVersions_AreNoChange) {
  SteppedCase step = Step("a", "n", "g");
  step.driver_before = "";
  EXPECT_EQ(GroupIncidents({step})[0].kind, CauseKind::kCase);
}

TEST(GroupIncidents, CasesOfOneGpu_AreTheGpu) {
  const auto incidents =
      GroupIncidents({Step("a", "n", "g1"), Step("b", "n", "g1"), Step("c", "n", "g1")});
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kGpu);
  EXPECT_EQ(incidents[0].to, "g1");
  EXPECT_EQ(incidents[0].members, (std::vector<size_t>{0, 1, 2}));
}

// The GPU takes part in every slow set of GPUs.
TEST(GroupIncidents, GpuInSeveralSets_IsTheGpu) {
  std::vector<SteppedCase> steps{Step("copy", "n", "g1"), Step("pair", "n", "g1"),
                                 Step("ring", "n", "g1")};
  steps[1].gpus = {"g1", "g2"};
  steps[2].gpus = {"g1", "g3"};
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kGpu);
  EXPECT_EQ(incidents[0].to, "g1");
}

TEST(GroupIncidents, SeveralGpusOfANode_AreTheNode) {
  std::vector<SteppedCase> steps;
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    for (size_t one = 0; one < 12; ++one) {
      steps.push_back(Step(Name("case", one), "n", Name("g", gpu)));
    }
  }
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kNode);
  EXPECT_EQ(incidents[0].to, "n");
  EXPECT_EQ(incidents[0].members.size(), 96U);
}

TEST(GroupIncidents, GpuWithMostSteps_ExplainsBeforeItsNode) {
  const auto incidents = GroupIncidents(
      {Step("a", "n", "g1"), Step("b", "n", "g1"), Step("c", "n", "g1"), Step("a", "n", "g2")});
  ASSERT_EQ(incidents.size(), 2U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kGpu);
  EXPECT_EQ(incidents[0].members, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(incidents[1].kind, CauseKind::kCase);
}

TEST(GroupIncidents, OneCaseOnManyNodes_IsTheCase) {
  std::vector<SteppedCase> steps;
  for (size_t gpu = 0; gpu < 64; ++gpu) {
    steps.push_back(Step("a", Name("n", gpu / 8), Name("g", gpu)));
  }
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kCase);
  EXPECT_EQ(incidents[0].to, "a");
}

TEST(GroupIncidents, OneCaseOnSeveralGpusOfANode_IsTheNode) {
  const auto incidents = GroupIncidents({Step("a", "n", "g1"), Step("a", "n", "g2")});
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kNode);
}

TEST(GroupIncidents, NodeWithoutGpus_IsTheNode) {
  std::vector<SteppedCase> steps{Step("a", "n", ""), Step("b", "n", "")};
  for (SteppedCase& step : steps) step.gpus.clear();
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kNode);
}

TEST(GroupIncidents, StepsAtDifferentTimes_AreSeparate) {
  EXPECT_EQ(GroupIncidents({Step("a", "n", "g", 1), Step("b", "n", "g", 5)}).size(), 2U);
  // The windows only touch.
  EXPECT_EQ(GroupIncidents({Step("a", "n", "g", 1), Step("b", "n", "g", 2)}).size(), 2U);
}

TEST(GroupIncidents, StepsThatOverlapThroughAnother_AreTogether) {
  std::vector<SteppedCase> steps{Step("a", "n", "g", 1), Step("b", "n", "g", 2),
                                 Step("c", "n", "g", 1.5)};
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].members, (std::vector<size_t>{0, 1, 2}));
}

// A node takes part in several gangs.
TEST(GroupIncidents, StepsOfSeveralNodes_BelongToTheCommonNode) {
  std::vector<SteppedCase> steps{Step("a", "n1", "g1"), Step("b", "n1", "g1"),
                                 Step("c", "n1", "g1")};
  steps[0].nodes = {"n1", "n2"};
  steps[0].gpus = {"g1", "g9"};
  steps[1].nodes = {"n1", "n3"};
  steps[1].gpus = {"g2", "g8"};
  steps[2].gpus = {"g3", "g4"};
  const auto incidents = GroupIncidents(steps);
  ASSERT_EQ(incidents.size(), 1U);
  EXPECT_EQ(incidents[0].kind, CauseKind::kNode);
  EXPECT_EQ(incidents[0].to, "n1");
}

TEST(GroupIncidents, EveryStepHasExactlyOneIncident) {
  std::vector<SteppedCase> steps;
  for (size_t i = 0; i < 200; ++i) {
    SteppedCase step = Step(Name("c", i * 7 % 5), Name("n", i * 11 % 9), Name("g", i * 13 % 31),
                            static_cast<double>(i * 17 % 6));
    if (i % 10 == 0) step.driver_after = "575";
    if (i % 4 == 0) step.gpus.push_back(Name("g", i * 3 % 31));
    steps.push_back(step);
  }
  std::vector<int> seen(steps.size());
  for (const IncidentGroup& group : GroupIncidents(steps)) {
    for (const size_t i : group.members) ++seen[i];
  }
  EXPECT_EQ(seen, std::vector<int>(steps.size(), 1));
}

}  // namespace
}  // namespace assay::analysis
