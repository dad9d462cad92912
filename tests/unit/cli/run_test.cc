// assay run, on an agent and on the fleet.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/text.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

v1::CaseResult GoodCase() {
  v1::CaseResult run;
  run.set_benchmark("cpu_gemm");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  (*run.mutable_parameters())["m"] = "512";
  v1::Measurement& measurement = *run.add_measurements();
  measurement.set_metric("gflops");
  measurement.set_unit("GFLOP/s");
  measurement.set_median(123.45);
  return run;
}

TEST(RunTest, OnAnAgent) {
  FakeCoordinator agent;
  agent.run_events.emplace_back().mutable_progress()->set_phase("measure");
  *agent.run_events.emplace_back().mutable_case_result() = GoodCase();
  agent.Start();
  const ProgramRun run = RunAssay(
      {"run", "cpu_gemm", "m=512", "--gpus", "0,2", "--counters", "--agent", agent.address()},
      "127.0.0.1:1");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "cpu_gemm: measure\n");
  EXPECT_EQ(run.out,
            "BENCHMARK  PARAMETERS  METRIC  MEDIAN  UNIT\n"
            "cpu_gemm   m=512       gflops   123.5  GFLOP/s\n");
  EXPECT_EQ(agent.last_run().parameters().at("m"), "512");
  EXPECT_THAT(agent.last_run().gpu_indices(), testing::ElementsAre(0, 2));
  EXPECT_TRUE(agent.last_run().counters());
}

TEST(RunTest, JsonAndCsv_StdoutHasOnlyData) {
  FakeCoordinator fake;
  fake.run_events.emplace_back().mutable_progress()->set_phase("measure");
  *fake.run_events.emplace_back().mutable_case_result() = GoodCase();
  v1::Campaign& campaign = fake.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  v1::WatchCampaignResponse end;
  *end.mutable_campaign() = campaign;
  end.mutable_campaign()->set_state(v1::CAMPAIGN_STATE_COMPLETED);
  end.mutable_campaign()->set_verdict(v1::VERDICT_PASSED);
  fake.watches = {{end}, {end}};
  *fake.results.emplace_back().mutable_case_result() = GoodCase();
  fake.Start();
  for (const bool on_agent : {true, false}) {
    std::vector<std::string> arguments = {"run", "cpu_gemm", "-o", "json"};
    if (on_agent) arguments.insert(arguments.end(), {"--agent", fake.address()});
    ProgramRun run = RunAssay(arguments, fake.address());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out, nullptr, false);
    ASSERT_EQ(json.size(), 1u) << run.out;
    EXPECT_EQ(json[0]["metric"], "gflops");
    EXPECT_NE(run.err, "");
    arguments[3] = "csv";
    run = RunAssay(arguments, fake.address());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(Split(run.out, ',')[2], "result_id");
    EXPECT_EQ(Split(run.out, '\n').size(), 3u);  // The last one is empty.
  }
}

TEST(RunTest, FailureOnAnAgent_SetsTheExitCode) {
  FakeCoordinator agent;
  v1::Failure& failure = *agent.run_events.emplace_back().mutable_failure();
  failure.set_reason(v1::REASON_RUNNER_CRASHED);
  failure.set_message("killed by signal 11");
  agent.Start();
  const std::vector<std::string> arguments = {"run", "cpu_gemm", "--agent", agent.address()};
  ProgramRun run = RunAssay(arguments, "127.0.0.1:1");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_WORDING("cli/run-job-failed", run.err);
  agent.run_events.clear();
  agent.run_error = FailedPrecondition("the node runs a coordinator's job", Reason::kNodeBusy);
  run = RunAssay(arguments, "127.0.0.1:1");
  EXPECT_EQ(run.exit_code, 4);
  agent.Stop();
  run = RunAssay(arguments, "127.0.0.1:1");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find(agent.address()), std::string::npos) << run.err;
}

TEST(RunTest, OnTheFleet) {
  FakeCoordinator fake;
  v1::Campaign& campaign = fake.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  campaign.set_name("run-cpu_gemm");
  v1::WatchCampaignResponse end;
  *end.mutable_campaign() = campaign;
  end.mutable_campaign()->set_state(v1::CAMPAIGN_STATE_COMPLETED);
  end.mutable_campaign()->set_verdict(v1::VERDICT_PASSED);
  fake.watches = {{end}};
  *fake.results.emplace_back().mutable_case_result() = GoodCase();
  fake.Start();
  const ProgramRun run =
      RunAssay({"run", "cpu_gemm", "m=512", "--gpus", "1", "--counters"}, fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/run-on-fleet", run.out);
  const v1::CampaignSpec spec = fake.last_create().spec();
  EXPECT_EQ(spec.name(), "run-cpu_gemm");
  EXPECT_EQ(spec.placement(), v1::PLACEMENT_POLICY_ANY);
  ASSERT_EQ(spec.benchmarks_size(), 1);
  EXPECT_TRUE(spec.benchmarks(0).counters());
  EXPECT_EQ(spec.benchmarks(0).axes(0).list().values(0), "512");
  EXPECT_THAT(spec.benchmarks(0).gpu_indices(), testing::ElementsAre(1));
}

// The user of `assay run` wrote no campaign, so its fields would mean nothing to them.
TEST(RunTest, RefusalOnTheFleet_NamesTheArgumentsOfTheCommand) {
  FakeCoordinator fake;
  fake.create_error =
      InvalidArgument(
          "the campaign has 3 faults: benchmarks[0].dtype[0]: \"fp4\" is not one of bf16",
          Reason::kInvalidCampaign)
          .WithViolations({{"benchmarks[0].dtype[0]", "\"fp4\" is not one of bf16", 0},
                           {"benchmarks[0].gpus", "GPU 1 is given twice", 0},
                           {"benchmarks[0].counters", "gemm has none", 0},
                           {"benchmarks[0]", "gemm needs a GPU", 0}});
  fake.Start();
  const ProgramRun run = RunAssay({"run", "gemm", "dtype=fp4", "--gpus", "1,1"}, fake.address());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_WORDING("cli/run-refused", run.err);
}

}  // namespace
}  // namespace assay::cli
