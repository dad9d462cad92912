// assay pairs, the program, of a campaign that has not ended.
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_coordinator.h"
#include "tests/unit/cli/pair_results.h"

namespace assay::cli {
namespace {

TEST(PairsProgramTest, SaysWhatItsJobsWaitFor) {
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_name("nightly");
  v1::Job& job = fake.jobs.emplace_back();
  job.set_benchmark("tcp_bandwidth");
  job.set_state(v1::JOB_STATE_QUEUED);
  job.add_node_names("a");
  job.add_node_names("b");
  fake.Start();
  const std::string none = "The campaign has no results on two nodes yet.\n";
  EXPECT_EQ(RunAssay({"pairs", "nightly"}, fake.address()).err,
            none + "1 job is still to be done.\n");

  fake.jobs.push_back(fake.jobs.front());
  v1::WaitingJobs& waiting = *fake.campaigns.front().add_waiting();
  waiting.set_jobs(2);
  waiting.set_needed(1);
  waiting.add_nodes()->set_name("b");
  EXPECT_EQ(RunAssay({"pairs", "nightly"}, fake.address()).err,
            none +
                "2 jobs are still to be done.\n"
                "  2 jobs wait for node b (removed from the fleet)\n"
                "  Start the agents there, or end the campaign: assay campaign cancel nightly\n");
  fake.jobs.clear();
  EXPECT_EQ(RunAssay({"pairs", "nightly"}, fake.address()).err,
            "The campaign has no results on two nodes; `placement: pairs` measures them.\n");
}

// 0 is a promise: nothing is worse by the threshold.
TEST(PairsProgramTest, ItsStatusSaysWhetherAnyBadLinkWouldHaveBeenNamed) {
  const auto status = [](const auto& value, const std::vector<std::string>& options = {}) {
    FakeCoordinator fake;
    fake.campaigns.emplace_back().set_name("nightly");
    fake.results = EveryPair("abcdef", value);
    fake.Start();
    std::vector<std::string> arguments = {"pairs", "nightly"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunAssay(arguments, fake.address()).exit_code;
  };
  const auto quiet = [](const std::string&, const std::string&) { return 1.0; };
  EXPECT_EQ(status(quiet), 0);
  const auto bad = [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.5 : 1.0;
  };
  EXPECT_EQ(status(bad), 1);
  // Of every node some links are 10% above the others, and some as far below.
  const auto noisy = [](const std::string& a, const std::string& b) {
    return (a[0] + 2 * b[0]) % 3 == 0 ? 1.1 : (a[0] + 2 * b[0]) % 3 == 1 ? 0.9 : 1.0;
  };
  EXPECT_EQ(status(noisy), 5);
  EXPECT_EQ(status(noisy, {"--threshold", "80"}), 0);
}

// What would be named were its own value certain leaves it open.
TEST(PairsProgramTest, ItsStatusTellsOfWhatPerhapsIsBad) {
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_name("nightly");
  fake.results = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.5 : 1.0;
  });
  v1::Measurement& uncertain = *fake.results[2].mutable_case_result()->mutable_measurements(0);
  uncertain.set_ci_low(0.2);
  uncertain.set_ci_high(1.1);
  fake.Start();
  const ProgramRun run = RunAssay({"pairs", "nightly"}, fake.address());
  EXPECT_NE(run.out.find("link a-d: perhaps 50% below"), std::string::npos) << run.out;
  EXPECT_EQ(run.exit_code, 5);
}

}  // namespace
}  // namespace assay::cli
