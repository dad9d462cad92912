#include "cli/views/campaign_report.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cli/analysis_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

v1::Campaign FailedCampaign() {
  v1::Campaign campaign;
  campaign.set_campaign_id("11111111-2222-4333-8444-555555555555");
  campaign.set_name("nightly");
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.set_verdict(v1::VERDICT_FAILED);
  campaign.set_case_count(6);
  campaign.set_cases_done(5);
  campaign.mutable_jobs()->set_succeeded(2);
  campaign.mutable_jobs()->set_failed(1);
  *campaign.mutable_create_time() = Night(20);
  *campaign.mutable_end_time() = Night(20, 3);
  v1::RuleVerdict* rule = campaign.add_rules();
  rule->set_rule("gemm[dtype=bf16].tflops >= 65% of spec");
  rule->set_verdict(v1::VERDICT_FAILED);
  rule->set_explanation("1 of 4 results <65%: worst 571.2 TFLOP/s on node a, GPU 3");
  rule = campaign.add_rules();
  rule->set_rule("memory_bandwidth.bandwidth >= 3000 GB/s");
  rule->set_verdict(v1::VERDICT_PASSED);
  rule->set_explanation("worst 4080 GB/s on node a, GPU 1");
  return campaign;
}

std::vector<v1::Job> Jobs() {
  std::vector<v1::Job> jobs(2);
  jobs[0].set_benchmark("all_reduce");
  jobs[0].set_state(v1::JOB_STATE_FAILED);
  jobs[0].add_node_names("sim-0010");
  jobs[0].mutable_failure()->set_reason(v1::REASON_NODE_REMOVED);
  jobs[0].mutable_failure()->set_message("the node was removed");
  jobs[1].set_state(v1::JOB_STATE_SUCCEEDED);
  return jobs;
}

TEST(CampaignReport, Junit_HasOneTestCasePerRuleAndFailedJob) {
  EXPECT_WORDING("views/campaign-junit", CampaignJunit(FailedCampaign(), Jobs()));
}

TEST(CampaignReport, Junit_RulesWithoutAVerdictAreSkipped) {
  v1::Campaign campaign = FailedCampaign();
  campaign.mutable_rules(0)->clear_verdict();
  campaign.clear_end_time();
  const std::string text = CampaignJunit(campaign, {});
  EXPECT_NE(text.find("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""), std::string::npos)
      << text;
  EXPECT_NE(text.find("<skipped"), std::string::npos);
}

TEST(CampaignReport, Junit_EscapesHostileTexts) {
  v1::Campaign campaign = FailedCampaign();
  campaign.set_name(kHostile);
  campaign.mutable_rules(0)->set_explanation("]]></failure><failure>\x01");
  const std::string text = CampaignJunit(campaign, Jobs());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  EXPECT_EQ(text.find("]]>"), std::string::npos);
  EXPECT_NE(text.find("&quot;|&lt;b&gt;&amp;&apos;"), std::string::npos) << text;
}

TEST(CampaignReport, Markdown_HasTablesOfRulesAndJobs) {
  EXPECT_WORDING("views/campaign-markdown", CampaignMarkdown(FailedCampaign(), Jobs()));
}

TEST(CampaignReport, Markdown_EscapesHostileTexts) {
  v1::Campaign campaign = FailedCampaign();
  campaign.mutable_rules(0)->set_rule("a|b\n| [x](http://y) <img>");
  const std::string text = CampaignMarkdown(campaign, std::vector<v1::Job>(25, Jobs()[0]));
  EXPECT_NE(text.find("a\\|b"), std::string::npos) << text;
  EXPECT_EQ(text.find("<img>"), std::string::npos);
  EXPECT_NE(text.find("\nand 5 more failed jobs\n"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
