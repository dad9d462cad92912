// assay campaign rerun.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(RerunTest, SendsTheRequest_SaysWhatWasQueued) {
  FakeCoordinator fake;
  v1::Campaign& campaign = fake.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  campaign.set_name("nightly");
  v1::Rerun& rerun = *campaign.add_reruns();
  rerun.set_job_count(3);
  fake.Start();
  const std::string request = "8a0c5f1e-2222-4333-8444-555555555555";
  ProgramRun run =
      RunAssay({"campaign", "rerun", "nightly", "--request-id", request}, fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.last_rerun().campaign(), "nightly");
  EXPECT_EQ(fake.last_rerun().request_id(), request);
  EXPECT_FALSE(fake.last_rerun().failed_only());
  EXPECT_WORDING("cli/rerun", run.out);
  rerun.set_failed_only(true);
  *campaign.add_reruns() = rerun;
  run = RunAssay({"campaign", "rerun", "nightly", "--failed"}, fake.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(fake.last_rerun().failed_only());
  EXPECT_EQ(fake.last_rerun().request_id().size(), 36U);
  EXPECT_WORDING("cli/rerun-failed", run.out);
  EXPECT_EQ(RunAssay({"campaign", "rerun", "c1", "--request-id", "x"}, fake.address()).exit_code,
            2);
}

TEST(RerunTest, Watch_ExitsWithTheVerdict) {
  for (const v1::Verdict verdict : {v1::VERDICT_PASSED, v1::VERDICT_FAILED}) {
    FakeCoordinator fake;
    fake.campaigns.emplace_back().set_campaign_id("c1");
    v1::WatchCampaignResponse end;
    end.mutable_campaign()->set_campaign_id("c1");
    end.mutable_campaign()->set_state(v1::CAMPAIGN_STATE_COMPLETED);
    end.mutable_campaign()->set_verdict(verdict);
    fake.watches = {{end}};
    fake.Start();
    EXPECT_EQ(RunAssay({"campaign", "rerun", "c1", "--watch"}, fake.address()).exit_code,
              verdict == v1::VERDICT_PASSED ? 0 : 1);
  }
}

}  // namespace
}  // namespace assay::cli
