// Tests campaigns that are paused or run again.
#include <gtest/gtest.h>

#include "common/uuid.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

class RerunTest : public FleetOfTwo {
 protected:
  // A campaign of one job with two cases.
  static v1::CampaignSpec TwoCases() {
    v1::CampaignSpec spec = MakeSpec("cpu_gemm");
    spec.mutable_benchmarks(0)->mutable_axes(0)->mutable_list()->add_values("128");
    spec.add_accept()->set_text("cpu_gemm.tflops >= 1 TFLOP/s");
    return spec;
  }

  Result<v1::Campaign> Rerun(const v1::Campaign& campaign, bool failed_only,
                             const Identity& caller = kLocalAdmin) {
    v1::RerunCampaignRequest request;
    request.set_campaign(campaign.campaign_id());
    request.set_failed_only(failed_only);
    auto rerun = coordinator->RerunCampaign(request, caller);
    executor->RunReady();
    return rerun;
  }

  // Sends results with this median for all cases of the job, then its end.
  void CompleteWith(double median, const v1::JobSpec& job) {
    for (int i = 0; i < job.cases_size(); ++i) SayResult(agent, ResultOf(job, i, median));
    SayFinished(agent, job);
  }

  const std::shared_ptr<FakeAgent> agent = Attach(a_);
};

TEST_F(RerunTest, Failed_RunsTheMissingCases_AndThenPasses) {
  const v1::Campaign campaign = Submit(TwoCases());
  const v1::JobSpec first = AssignedTo(agent);
  ASSERT_EQ(first.cases_size(), 2);
  SayResult(agent, ResultOf(first, 0));
  EXPECT_EQ(Rerun(campaign, true).status().code(), Code::kFailedPrecondition);
  SayFinished(agent, first, v1::REASON_RUNNER_CRASHED);
  ASSERT_EQ(Campaign(campaign).verdict(), v1::VERDICT_FAILED);

  const auto rerun = Rerun(campaign, true);
  ASSERT_TRUE(rerun.ok()) << rerun.status();
  EXPECT_EQ(rerun->state(), v1::CAMPAIGN_STATE_ACTIVE);
  const v1::JobSpec second = AssignedTo(agent);
  EXPECT_EQ(second.job_id(), first.job_id());
  EXPECT_EQ(second.epoch(), first.epoch() + 1);
  ASSERT_EQ(second.cases_size(), 1);
  EXPECT_EQ(second.cases(0).case_index(), 1);
  Complete(agent, second);
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
}

TEST_F(RerunTest, All_AreJudgedByTheNewResultsAlone) {
  const v1::Campaign campaign = Submit(TwoCases());
  const v1::JobSpec first = AssignedTo(agent);
  SayFinished(agent, first, v1::REASON_RUNNER_CRASHED);
  ASSERT_EQ(Campaign(campaign).verdict(), v1::VERDICT_FAILED);
  for (const double median : {0.5, 2.0, 0.25}) {
    ASSERT_TRUE(Rerun(campaign, false).ok());
    const v1::JobSpec job = AssignedTo(agent);
    EXPECT_NE(job.job_id(), first.job_id());
    EXPECT_EQ(job.cases_size(), 2);
    CompleteWith(median, job);
    EXPECT_EQ(Campaign(campaign).verdict(), median >= 1 ? v1::VERDICT_PASSED : v1::VERDICT_FAILED);
    ASSERT_EQ(Campaign(campaign).rules_size(), 1);
    EXPECT_EQ(Campaign(campaign).rules(0).results_checked(), 2);
  }
  EXPECT_EQ(results.ListOfCampaign(campaign.campaign_id())->size(), 6U);
}

TEST_F(RerunTest, Paused_AssignsNothing_UntilResumed) {
  const v1::Campaign campaign = Submit(TwoCases());
  const v1::JobSpec first = AssignedTo(agent);
  const v1::Campaign other = Submit(TwoCases());
  const auto pause = [&](bool paused, const Identity& caller = kLocalAdmin) {
    auto changed = coordinator->SetPaused(other.campaign_id(), paused, caller);
    executor->RunReady();
    return changed;
  };
  EXPECT_EQ(pause(true, {Role::kSubmitter, "", "mallory"}).status().code(), Code::kPermissionDenied);
  const auto paused = pause(true, {Role::kOperator, "", "olga"});
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->paused_by(), "olga");
  Complete(agent, first);
  EXPECT_EQ(Campaign(other).jobs().queued(), 1);
  EXPECT_TRUE(Campaign(other).waiting().empty());
  ASSERT_TRUE(pause(false).ok());
  Complete(agent, AssignedTo(agent));
  EXPECT_EQ(Campaign(other).state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_EQ(pause(true).status().reason(), Reason::kCampaignEnded);
}

TEST_F(RerunTest, ImportsAndUnknownCampaigns_AreRefused) {
  const auto unknown = coordinator->RerunCampaign({});
  EXPECT_EQ(unknown.status().code(), Code::kNotFound);
  storage::ImportedCampaign imported;
  imported.campaign.campaign_id = NewUuid();
  imported.campaign.request_id = NewUuid();
  imported.campaign.spec.set_name("imported");
  storage::NewJob& job = imported.campaign.jobs.emplace_back();
  job.job_id = NewUuid();
  job.repetition = 1;
  job.cases.emplace_back();
  v1::CaseResult& result = imported.results.emplace_back();
  result.set_job_id(job.job_id);
  result.set_epoch(1);
  ASSERT_TRUE(results.Import(imported).ok());
  v1::RerunCampaignRequest request;
  request.set_campaign("imported");
  EXPECT_EQ(coordinator->RerunCampaign(request).status().code(), Code::kFailedPrecondition);
  request.set_request_id("nightly");
  EXPECT_EQ(coordinator->RerunCampaign(request).status().code(), Code::kInvalidArgument);
}

TEST_F(RerunTest, Submitters_RunOnlyTheirOwnCampaignsAgain) {
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = TwoCases();
  const Identity ann{Role::kSubmitter, "fleet", "ann", "", ""};
  const Identity bob{Role::kSubmitter, "fleet", "bob", "", ""};
  const auto campaign = coordinator->CreateCampaign(request, ann);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  executor->RunReady();
  Complete(agent, AssignedTo(agent));
  EXPECT_EQ(Rerun(*campaign, false, bob).status().code(), Code::kPermissionDenied);
  EXPECT_TRUE(Rerun(*campaign, false, ann).ok());
}

}  // namespace
}  // namespace assay::coordinator
