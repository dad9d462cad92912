// assay pairs, the program, of a campaign that has not ended.
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_coordinator.h"

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

}  // namespace
}  // namespace assay::cli
