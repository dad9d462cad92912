// assay campaign submit and show.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/subprocess.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(SubmitTest, UnknownNodesInTheFile_AreWarnedOf) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pairs.yaml";
  std::ofstream(path)
      << "name: p\nnodes: name = rack-2 OR name = rack-22\nbenchmarks: [tcp_latency]\n";
  FakeCoordinator fake;
  v1::Node& node = fake.nodes.emplace_back();
  node.mutable_description()->set_name("rack-2");
  node.set_state(v1::NODE_STATE_CONNECTED);
  fake.campaigns.emplace_back().set_campaign_id("c1");
  fake.Start();
  for (const char* option : {"--dry-run", "--insecure"}) {
    const ProgramRun run = RunAssay({"campaign", "submit", path, option}, fake.address());
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.err.find(path + ":2: nodes: "), 0u) << run.err;
    EXPECT_NE(run.err.find("rack-22"), std::string::npos) << run.err;
  }
  // The warning is also printed if the coordinator refuses the campaign.
  FakeCoordinator refusing;
  refusing.nodes = fake.nodes;
  refusing.create_error = InvalidArgument("1 fault", Reason::kInvalidCampaign)
                              .WithViolations({{"benchmarks[0].ranks", "2 ranks need 2 nodes", 3}});
  refusing.Start();
  const ProgramRun run = RunAssay({"campaign", "submit", path}, refusing.address());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err.find(path + ":3: benchmarks[0].ranks: "), 0u) << run.err;
  EXPECT_NE(run.err.find(path + ":2: nodes: "), std::string::npos) << run.err;
}

// Writes a campaign file. The fake coordinator accepts any.
std::string WriteFile(const TemporaryFolder& folder) {
  std::string path = folder.path() + "/quick.yaml";
  std::ofstream(path) << "name: quick\nbenchmarks: [cpu_gemm]\n";
  return path;
}

TEST(SubmitTest, Json_PrintsTheCampaign) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  v1::Campaign& campaign = fake.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  campaign.set_name("quick");
  campaign.set_state(v1::CAMPAIGN_STATE_ACTIVE);
  campaign.set_case_count(3);
  campaign.mutable_jobs()->set_queued(2);
  fake.Start();
  const ProgramRun run =
      RunAssay({"campaign", "submit", WriteFile(folder), "-o", "json"}, fake.address());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["campaign_id"], "c1");
  EXPECT_EQ(json["name"], "quick");
  EXPECT_EQ(json["state"], "CAMPAIGN_STATE_ACTIVE");
  EXPECT_EQ(json["case_count"], 3);
  EXPECT_EQ(json["jobs"]["queued"], 2);
}

TEST(SubmitTest, DryRun_HasAnEstimate) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_name("quick");
  v1::NodeEstimate& node = *fake.estimate.emplace().add_nodes();
  node.set_node_name("g1");
  node.set_job_count(2);
  node.set_dollars(0.5);
  fake.estimate->set_dollars(0.5);
  fake.Start();
  const std::string file = WriteFile(folder);
  ProgramRun run = RunAssay({"campaign", "submit", file, "--dry-run"}, fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("g1"), std::string::npos) << run.out;
  run = RunAssay({"campaign", "submit", file, "--dry-run", "-o", "json"}, fake.address());
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["name"], "quick");
  EXPECT_EQ(json["estimate"]["nodes"][0]["node_name"], "g1");
  EXPECT_EQ(json["estimate"]["dollars"], 0.5);
}

TEST(SubmitTest, JsonWithWatch_PrintsTheFinalCampaign_ExitsWithTheVerdict) {
  const TemporaryFolder folder;
  for (const v1::Verdict verdict : {v1::VERDICT_PASSED, v1::VERDICT_FAILED}) {
    FakeCoordinator fake;
    fake.campaigns.emplace_back().set_campaign_id("c1");
    v1::WatchCampaignResponse end;
    end.mutable_campaign()->set_campaign_id("c1");
    end.mutable_campaign()->set_state(v1::CAMPAIGN_STATE_COMPLETED);
    end.mutable_campaign()->set_verdict(verdict);
    fake.watches = {{end}};
    fake.Start();
    const ProgramRun run = RunAssay(
        {"campaign", "submit", WriteFile(folder), "--watch", "-o", "json"}, fake.address());
    EXPECT_EQ(run.exit_code, verdict == v1::VERDICT_PASSED ? 0 : 1);
    EXPECT_EQ(nlohmann::json::parse(run.out)["verdict"], v1::Verdict_Name(verdict));
  }
}

TEST(SubmitTest, Name_PrintsOnlyTheId) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_campaign_id("c1");
  fake.Start();
  const std::string file = WriteFile(folder);
  const ProgramRun run = RunAssay({"campaign", "submit", file, "-o", "name"}, fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "c1\n");
  EXPECT_EQ(
      RunAssay({"campaign", "submit", file, "-o", "name", "--dry-run"}, fake.address()).exit_code,
      2);
}

TEST(SubmitTest, RequestId_IsSentInLowerCase_AnythingElseIsRefused) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_campaign_id("c1");
  fake.Start();
  const std::string file = WriteFile(folder);
  const auto submit = [&](const char* id) {
    return RunAssay({"campaign", "submit", file, "--request-id", id}, fake.address()).exit_code;
  };
  EXPECT_EQ(submit("8A0C5F1E-2222-4333-8444-555555555555"), 0);
  EXPECT_EQ(fake.last_create().request_id(), "8a0c5f1e-2222-4333-8444-555555555555");
  EXPECT_EQ(submit("build-17"), 2);
  EXPECT_EQ(submit(""), 2);
  EXPECT_EQ(fake.create_calls(), 1);
}

TEST(SubmitTest, Dash_ReadsStandardInput) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_campaign_id("c1");
  fake.Start();
  SubprocessOptions options;
  options.argv = {"sh", "-c",
                  "cat '" + WriteFile(folder) +
                      "' | " ASSAY_PROGRAM " campaign submit - -o name --coordinator " +
                      fake.address()};
  const Result<CommandOutput> output = RunCommand(options, std::chrono::seconds(20));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->output, "c1\n");
  EXPECT_EQ(fake.last_create().spec().name(), "quick");
}

TEST(ExportTest, FileSubmitsTheSameCampaign) {
  const TemporaryFolder folder;
  FakeCoordinator fake;
  v1::Campaign& campaign = fake.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  campaign.mutable_spec()->set_name("quick");
  campaign.mutable_spec()->set_repetitions(3);
  campaign.mutable_spec()->add_benchmarks()->set_benchmark("cpu_gemm");
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "export", "c1"}, fake.address());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string file = folder.path() + "/again.yaml";
  std::ofstream(file) << run.out;
  EXPECT_EQ(RunAssay({"campaign", "submit", file}, fake.address()).exit_code, 0);
  EXPECT_EQ(fake.last_create().spec().name(), "quick");
  EXPECT_EQ(fake.last_create().spec().repetitions(), 3);
  EXPECT_EQ(fake.last_create().spec().benchmarks(0).benchmark(), "cpu_gemm");
}

TEST(ExportTest, ImportedCampaign_IsRefused) {
  FakeCoordinator fake;
  fake.campaigns.emplace_back().mutable_spec()->set_name("imported");
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "export", "imported"}, fake.address());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.out, "");
}

TEST(SubmitTest, FirstCoordinatorIsDown_NextOneGetsTheCampaign) {
  const TemporaryFolder folder;
  FakeCoordinator down;
  down.Start();
  down.Stop();
  FakeCoordinator away;  // It answers, but its database is away.
  away.create_error = Unavailable("the database is away");
  away.Start();
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_campaign_id("c1");
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "submit", WriteFile(folder)},
                                  down.address() + "," + away.address() + "," + fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.create_calls(), 1);
  EXPECT_EQ(fake.last_create().request_id(), away.last_create().request_id());
}

TEST(ShowTest, FailedAttempts_AreListedBelowTheJobs) {
  FakeCoordinator fake;
  fake.campaigns.emplace_back().set_campaign_id("c1");
  for (const v1::JobState state :
       {v1::JOB_STATE_SUCCEEDED, v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED}) {
    v1::Job& job = fake.jobs.emplace_back();
    job.set_benchmark("tcp_latency");
    job.add_node_names("g2");
    job.set_state(state);
    job.mutable_failure()->set_reason(v1::REASON_PEER_TIMEOUT);
    job.mutable_failure()->set_message("rank 1 has not answered");
  }
  fake.Start();
  const ProgramRun run = RunAssay({"campaign", "show", "c1"}, fake.address());
  EXPECT_WORDING("cli/show-failures", run.out.substr(run.out.rfind("\n\n") + 2));
}

}  // namespace
}  // namespace assay::cli
