// assay pairs as a program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analysis/pair_results.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using analysis::EveryPair;
using analysis::ResultOf;

class PairsProgram : public testing::Test {
 protected:
  PairsProgram() { fake_.campaigns.emplace_back().set_name("nightly"); }

  ProgramRun Run(const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"pairs", "nightly"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunAssay(arguments, fake_.address());
  }

  FakeCoordinator fake_;
};

TEST_F(PairsProgram, WaitingJobs_AreNamedWithTheirNodes) {
  v1::Job& job = fake_.jobs.emplace_back();
  job.set_benchmark("tcp_bandwidth");
  job.set_state(v1::JOB_STATE_QUEUED);
  job.add_node_names("a");
  job.add_node_names("b");
  v1::WaitingJobs& waiting = *fake_.campaigns.front().add_waiting();
  waiting.set_jobs(1);
  waiting.set_needed(1);
  waiting.add_nodes()->set_name("b");
  fake_.Start();
  const ProgramRun run = Run();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_WORDING("views/pairs-waiting", run.err);
  fake_.jobs.clear();
  EXPECT_WORDING("views/pairs-none", Run().err);
}

TEST_F(PairsProgram, AbsentNodes_AreNamed) {
  v1::Coverage& coverage = *fake_.campaigns.front().mutable_coverage();
  coverage.set_node_count(3);
  coverage.set_absent_node_count(1);
  coverage.add_absent_nodes("g31");
  fake_.results = EveryPair("ab", [](const auto&, const auto&) { return 1.0; });
  fake_.Start();
  EXPECT_NE(Run().out.find("  Nodes: 2 of 3 matching nodes; absent: g31\n"), std::string::npos);
  const auto json = nlohmann::json::parse(Run({"-o", "json"}).out);
  EXPECT_EQ(json["absent_nodes"], nlohmann::json::array({"g31"}));
}

TEST_F(PairsProgram, ExitStatusIsZeroOnlyIfEveryPairIsMeasuredAndNoneIsBad) {
  fake_.Start();
  const auto equal = EveryPair("abcdef", [](const auto&, const auto&) { return 1.0; });
  for (const v1::StoredResult& result : equal) {
    for (const char* format : {"table", "csv", "json"}) {
      EXPECT_EQ(Run({"-o", format}).exit_code, 1) << fake_.results.size() << " pairs " << format;
      if (fake_.results.size() > 1) break;
    }
    fake_.results.push_back(result);
  }
  for (const char* format : {"table", "csv", "json"}) {
    EXPECT_EQ(Run({"-o", format}).exit_code, 0) << format;
  }
  fake_.results[2].mutable_case_result()->mutable_measurements(0)->set_median(0.5);
  EXPECT_EQ(Run().exit_code, 1);
  EXPECT_EQ(Run({"--threshold", "80"}).exit_code, 0);
}

TEST_F(PairsProgram, UnknownMetric_IsRefusedWithTheKnownOnes) {
  fake_.results = {ResultOf("a", "b", 1)};
  fake_.Start();
  EXPECT_EQ(Run({"--metric", "bandwidth"}).exit_code, 1);
  const ProgramRun unknown = Run({"--metric", "bandwith"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_WORDING("views/pairs-unknown-metric", unknown.err);
  EXPECT_EQ(Run({"--metric", ""}).exit_code, 2);
}

TEST_F(PairsProgram, ThresholdOutOfRange_IsRefused) {
  fake_.Start();
  for (const char* const threshold : {"nan", "-nan", "inf", "0.9", "90.1", "-5", "ten", ""}) {
    EXPECT_EQ(Run({std::string("--threshold=") + threshold}).exit_code, 2) << threshold;
  }
  for (const char* const threshold : {"1", "90", "12.5"}) {
    EXPECT_EQ(Run({"--threshold", threshold}).exit_code, 1) << threshold;
  }
}

}  // namespace
}  // namespace assay::cli
