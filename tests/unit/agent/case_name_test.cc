#include <gtest/gtest.h>

#include <map>

#include "agent/core/rank_group.h"

namespace assay::agent {
namespace {

v1::JobSpec JobOf(const std::map<int, std::map<std::string, std::string>>& cases) {
  v1::JobSpec spec;
  for (const auto& [index, parameters] : cases) {
    v1::BenchmarkCase& one = *spec.add_cases();
    one.set_case_index(index);
    one.mutable_parameters()->insert(parameters.begin(), parameters.end());
  }
  return spec;
}

TEST(CaseNameTest, TellsTheParametersInWhichTheCasesDiffer) {
  const v1::JobSpec job = JobOf({{0, {{"bytes", "1"}, {"ranks", "2"}, {"wait", "sleep"}}},
                                 {1, {{"bytes", "1024"}, {"ranks", "2"}, {"wait", "sleep"}}},
                                 {3, {{"bytes", "1"}, {"ranks", "2"}, {"wait", "spin"}}}});
  EXPECT_EQ(CaseName(job, 0), "case 1 (bytes=1, wait=sleep)");
  EXPECT_EQ(CaseName(job, 1), "case 2 (bytes=1024, wait=sleep)");
  EXPECT_EQ(CaseName(job, 3), "case 4 (bytes=1, wait=spin)");
}

TEST(CaseNameTest, WithoutADifferenceTheNumberIsEnough) {
  EXPECT_EQ(CaseName(JobOf({{2, {{"bytes", "1"}}}}), 2), "case 3");
  EXPECT_EQ(CaseName(JobOf({{0, {{"bytes", "1"}}}}), 7), "case 8");
}

}  // namespace
}  // namespace assay::agent
