#include "cli/views/progress.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cli/views/format.h"
#include "cli/views/table.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Campaign ActiveCampaign() {
  v1::Campaign campaign;
  campaign.set_campaign_id("c1");
  campaign.set_name("quickstart");
  campaign.set_state(v1::CAMPAIGN_STATE_ACTIVE);
  campaign.set_case_count(8);
  campaign.set_cases_done(2);
  campaign.mutable_jobs()->set_running(1);
  campaign.mutable_jobs()->set_queued(3);
  campaign.mutable_create_time()->set_seconds(1000);
  return campaign;
}

v1::Job MakeJob(const std::string& id, v1::JobState state, int64_t epoch = 1) {
  v1::Job job;
  job.set_job_id(id);
  job.set_benchmark("gemm");
  job.set_state(state);
  job.set_epoch(epoch);
  job.set_attempts(static_cast<int>(epoch));
  job.set_repetition(1);
  job.set_case_count(4);
  job.add_node_names("node-a");
  job.add_gpu_indices(3);
  job.mutable_start_time()->set_seconds(1010);
  return job;
}

std::vector<std::string> Texts(const std::vector<JobEvent>& events) {
  std::vector<std::string> texts;
  for (const JobEvent& event : events) texts.push_back((event.failure ? "!" : "") + event.text);
  return texts;
}

v1::WatchCampaignResponse Message(const std::vector<v1::Job>& jobs) {
  v1::WatchCampaignResponse message;
  *message.mutable_campaign() = ActiveCampaign();
  for (const v1::Job& job : jobs) *message.add_jobs() = job;
  return message;
}

TEST(CampaignProgress, RepeatedState_IsReportedOnce) {
  CampaignProgress progress;
  EXPECT_THAT(progress.Apply(Message({MakeJob("j", v1::JOB_STATE_QUEUED, 0)})), IsEmpty());
  const v1::WatchCampaignResponse started = Message({MakeJob("j", v1::JOB_STATE_RUNNING)});
  EXPECT_THAT(Texts(progress.Apply(started)), ElementsAre("gemm on node-a GPU 3: started"));
  EXPECT_THAT(progress.Apply(started), IsEmpty());
  v1::Job done = MakeJob("j", v1::JOB_STATE_SUCCEEDED);
  done.set_cases_done(4);
  done.mutable_end_time()->set_seconds(1015);
  EXPECT_THAT(Texts(progress.Apply(Message({done}))),
              ElementsAre("gemm on node-a GPU 3: done, 4/4 cases in 5.0s"));
  EXPECT_THAT(progress.Apply(Message({done})), IsEmpty());
}

TEST(CampaignProgress, FailuresAndRetries_AreReported) {
  CampaignProgress progress;
  progress.Apply(Message({MakeJob("j", v1::JOB_STATE_RUNNING)}));
  v1::Job again = MakeJob("j", v1::JOB_STATE_QUEUED);
  again.mutable_failure()->set_reason(v1::REASON_AGENT_LOST);
  again.mutable_failure()->set_message("no heartbeat for 15s");
  EXPECT_THAT(Texts(progress.Apply(Message({again}))),
              ElementsAre("!gemm on node-a GPU 3: attempt 1 failed and will be retried: "
                          "AGENT_LOST: no heartbeat for 15s"));
  EXPECT_THAT(Texts(progress.Apply(Message({MakeJob("j", v1::JOB_STATE_RUNNING, 2)}))),
              ElementsAre("gemm on node-a GPU 3: started, attempt 2"));
  v1::Job failed = MakeJob("j", v1::JOB_STATE_FAILED, 2);
  failed.set_repetition(2);
  failed.mutable_failure()->set_reason(v1::REASON_TIMEOUT);
  failed.mutable_failure()->set_message("evil \x1b[2J");
  EXPECT_THAT(Texts(progress.Apply(Message({failed}))),
              ElementsAre("!gemm on node-a GPU 3, repetition 2: FAILED after 0/4 cases: TIMEOUT: "
                          "evil \xef\xbf\xbd[2J"));
}

TEST(CampaignProgress, StoppedAgentOrDrainedNode_HandsTheJobBack) {
  for (const v1::Reason reason : {v1::REASON_AGENT_STOPPED, v1::REASON_NODE_DRAINED}) {
    CampaignProgress progress;
    progress.Apply(Message({MakeJob("j", v1::JOB_STATE_RUNNING)}));
    v1::Job again = MakeJob("j", v1::JOB_STATE_QUEUED);
    again.mutable_failure()->set_reason(reason);
    const std::vector<JobEvent> events = progress.Apply(Message({again}));
    ASSERT_NE(MovedText(again.failure()), "");
    EXPECT_THAT(Texts(events), ElementsAre("gemm on node-a GPU 3: " + MovedText(again.failure())));
    EXPECT_EQ(events[0].name, "job_moved");
  }
}

TEST(CampaignProgress, Line_IsForOutputWithoutATerminal) {
  CampaignProgress progress;
  progress.Apply(Message({}));
  EXPECT_EQ(progress.Line(1180), "2/8 cases after 3m00s: 3 queued, 1 running");
}

TEST(CampaignProgress, AttemptMissedWhileDisconnected_IsReported) {
  CampaignProgress progress;
  progress.Apply(Message({MakeJob("j", v1::JOB_STATE_RUNNING, 1)}));
  EXPECT_THAT(Texts(progress.Apply(Message({MakeJob("j", v1::JOB_STATE_RUNNING, 2)}))),
              ElementsAre("gemm on node-a GPU 3: started, attempt 2"));
}

TEST(PlacementOf, ManyNodes_AreCountedAfterTheFirst) {
  v1::Job job = MakeJob("j", v1::JOB_STATE_QUEUED);
  job.clear_gpu_indices();
  for (const char* node : {"b", "c", "d"}) job.add_node_names(node);
  EXPECT_EQ(PlacementOf(job), "node-a, b, c, d");  // Naming it is as short as "and 1 more".
  job.add_node_names("e");
  EXPECT_EQ(PlacementOf(job), "node-a, b, c and 2 more");
  job.set_more_node_count(992);
  EXPECT_EQ(PlacementOf(job), "node-a, b, c and 994 more");
}

TEST(CampaignProgress, Display_ShowsBarAndRunningJobs) {
  CampaignProgress progress;
  v1::Job second = MakeJob("j2", v1::JOB_STATE_RUNNING);
  second.set_benchmark("cpu_memory_bandwidth");
  second.set_node_names(0, "node-bb");
  second.clear_gpu_indices();
  second.set_cases_done(3);
  progress.Apply(Message({second, MakeJob("j1", v1::JOB_STATE_RUNNING)}));
  EXPECT_THAT(progress.Render({80, false}, 1075),
              ElementsAre("██████░░░░░░░░░░░░░░░░░░ 2/8 cases  1m15s  3 queued, 1 running",
                          "  node-a GPU 3  gemm                  0/4 cases  1m05s",
                          "  node-bb       cpu_memory_bandwidth  3/4 cases  1m05s"));
}

TEST(CampaignProgress, Display_FitsTheTerminal) {
  CampaignProgress progress;
  std::vector<v1::Job> jobs;
  for (int i = 0; i < 40; ++i) {
    jobs.push_back(MakeJob("j" + std::to_string(i), v1::JOB_STATE_RUNNING));
    jobs.back().set_node_names(0, "a-node-with-a-very-long-name-" + std::to_string(i));
  }
  progress.Apply(Message(jobs));
  for (int width = 24; width <= 160; width += 8) {
    const std::vector<std::string> lines = progress.Render({width, false}, 1e12);
    EXPECT_EQ(lines.size(), CampaignProgress::kMostJobs + 2);
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(CampaignProgress, Summary_ExplainsTheVerdict) {
  CampaignProgress progress;
  v1::WatchCampaignResponse message;
  v1::Campaign& campaign = *message.mutable_campaign();
  campaign = ActiveCampaign();
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.set_verdict(v1::VERDICT_FAILED);
  campaign.set_cases_done(7);
  campaign.clear_jobs();
  campaign.mutable_jobs()->set_succeeded(3);
  campaign.mutable_jobs()->set_failed(1);
  campaign.mutable_end_time()->set_seconds(1012);
  v1::RuleVerdict& held = *campaign.add_rules();
  held.set_rule("gemm.tflops >= 500 TFLOP/s");
  held.set_verdict(v1::VERDICT_PASSED);
  held.set_explanation("worst 712.3 TFLOP/s on node-a, GPU 3");
  v1::RuleVerdict& broken = *campaign.add_rules();
  broken.set_rule("all_reduce.bus_bandwidth >= 340 GB/s");
  broken.set_verdict(v1::VERDICT_FAILED);
  broken.set_explanation("no result matches");
  // An imported campaign ends at the time at which it begins.
  message.mutable_campaign()->mutable_end_time()->set_seconds(1000);
  progress.Apply(message);
  const std::string summary = progress.Summary({});
  EXPECT_EQ(summary.substr(0, summary.find('\n')), "Campaign quickstart (c1): FAILED");
  campaign.mutable_end_time()->set_seconds(1012);
  progress.Apply(message);
  EXPECT_TRUE(progress.ended());
  EXPECT_EQ(progress.Summary({}),
            "Campaign quickstart (c1): FAILED in 12.0s\n"
            "  Jobs:  3 succeeded, 1 failed\n"
            "  Cases: 7 of 8 done\n"
            "  Acceptance:\n"
            "    PASS  gemm.tflops >= 500 TFLOP/s\n"
            "          worst 712.3 TFLOP/s on node-a, GPU 3\n"
            "    FAIL  all_reduce.bus_bandwidth >= 340 GB/s\n"
            "          no result matches\n");
}

TEST(CampaignProgress, Summary_SaysWhichNodesAreCovered) {
  v1::Campaign campaign = ActiveCampaign();
  v1::Coverage& coverage = *campaign.mutable_coverage();
  coverage.set_node_count(13);
  const auto summary = [&campaign] {
    CampaignProgress progress;
    v1::WatchCampaignResponse message;
    *message.mutable_campaign() = campaign;
    progress.Apply(message);
    return progress.Summary({});
  };
  EXPECT_WORDING("views/coverage-all", summary());
  coverage.set_absent_node_count(1);
  coverage.add_absent_nodes("g31");
  EXPECT_WORDING("views/coverage-absent", summary());
  coverage.set_absent_node_count(4);
  EXPECT_WORDING("views/coverage-many-absent", summary());
  campaign.mutable_spec()->set_absent(v1::ABSENT_POLICY_WAIT);
  EXPECT_WORDING("views/coverage-waiting", summary());
}

TEST(CampaignProgress, SummaryOfAPass_ListsWhatDidNotRun) {
  v1::WatchCampaignResponse message;
  v1::Campaign& campaign = *message.mutable_campaign();
  campaign = ActiveCampaign();
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.set_verdict(v1::VERDICT_PASSED);
  const auto leave_out = [&](const char* benchmark, int line, int cases, const char* reason) {
    v1::LeftOut& one = *campaign.add_left_out();
    one.set_benchmark(benchmark);
    one.set_line(line);
    one.set_case_count(cases);
    one.set_reason(reason);
  };
  leave_out("all_reduce", 9, 8, "8 ranks need 8 GPUs\x1b[2J");
  leave_out("tcp_all_reduce", 10, 1, "2 ranks need 2 nodes");
  leave_out("all_gather", 0, 2, "8 ranks need 8 GPUs\x1b[2J");
  CampaignProgress progress;
  progress.Apply(message);
  EXPECT_WORDING("views/summary-left-out", progress.Summary({}));
  for (int i = 0; i < 20; ++i) leave_out("reduce", i, 1, std::to_string(i).c_str());
  progress.Apply(message);
  EXPECT_WORDING("views/summary-many-reasons", progress.Summary({}));
}

v1::WaitingJobs Waiting(int jobs, int needed, const std::vector<std::string>& nodes) {
  v1::WaitingJobs waiting;
  waiting.set_jobs(jobs);
  waiting.set_needed(needed);
  for (const std::string& name : nodes) waiting.add_nodes()->set_name(name);
  return waiting;
}

TEST(CampaignProgress, WaitingJobs_AreReportedOnlyWhenTheyChange) {
  CampaignProgress progress;
  v1::WatchCampaignResponse message = Message({});
  EXPECT_THAT(progress.Apply(message), IsEmpty());
  *message.mutable_campaign()->add_waiting() = Waiting(3, 1, {"g3"});
  const auto since = [&](int64_t time) {
    v1::AbsentNode* node = message.mutable_campaign()->mutable_waiting(0)->mutable_nodes(0);
    node->mutable_last_heartbeat_time()->set_seconds(time);
    return FormatTime(node->last_heartbeat_time());
  };
  const std::string line = "3 jobs wait for node g3 (disconnected since " + since(5000) + ")";
  EXPECT_THAT(Texts(progress.Apply(message)), ElementsAre(line));
  message.mutable_campaign()->mutable_waiting(0)->set_jobs(2);
  EXPECT_THAT(progress.Apply(message), IsEmpty());
  EXPECT_THAT(progress.Render({80, false}, 6000),
              ElementsAre(testing::_,
                          "  2 jobs wait for node g3 (disconnected since " + since(5000) + ")"));
  // The node came back and left again.
  const std::string again = "2 jobs wait for node g3 (disconnected since " + since(7000) + ")";
  EXPECT_THAT(Texts(progress.Apply(message)), ElementsAre(again));
  *message.mutable_campaign()->add_waiting() = Waiting(1, 1, {"a", "b", "c", "d", "e"});
  EXPECT_THAT(Texts(progress.Apply(message)),
              ElementsAre("1 job waits for 1 of the nodes a (removed from the fleet), b (removed "
                          "from the fleet), c (removed from the fleet) and 2 more"));
  message.mutable_campaign()->clear_waiting();
  EXPECT_THAT(progress.Apply(message), IsEmpty()) << "the coordinator may have just started";
  for (int i = 0; i < 9; ++i) {
    *message.mutable_campaign()->add_waiting() = Waiting(2, 1, {"n" + std::to_string(i)});
  }
  const std::vector<std::string> many = Texts(progress.Apply(message));
  ASSERT_EQ(many.size(), 5u);
  EXPECT_EQ(many.back(), "10 jobs wait for others");
}

TEST(CampaignProgress, InvalidMessages_AreHarmless) {
  CampaignProgress progress;
  v1::WatchCampaignResponse message;
  message.mutable_campaign()->set_case_count(-5);
  message.mutable_campaign()->set_cases_done(2'000'000'000);
  message.mutable_campaign()->mutable_create_time()->set_seconds(-9'000'000'000'000'000'000);
  v1::Job& job = *message.add_jobs();
  job.set_state(static_cast<v1::JobState>(99));
  progress.Apply(message);
  EXPECT_EQ(progress.Render({40, false}, 0).size(), 1u);
  EXPECT_FALSE(progress.Summary({}).empty());
}

}  // namespace
}  // namespace assay::cli
