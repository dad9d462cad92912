// Tests texts about time and money.
#include "cli/views/estimate_text.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/views/progress.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

v1::Estimate MakeEstimate(int seconds, int from_history, int from_method) {
  v1::Estimate estimate;
  estimate.mutable_duration()->set_seconds(seconds);
  estimate.set_cases_from_history(from_history);
  estimate.set_cases_from_method(from_method);
  return estimate;
}

v1::NodeEstimate* AddNode(v1::Estimate& estimate, const std::string& name, int seconds) {
  v1::NodeEstimate* node = estimate.add_nodes();
  node->set_node_name(name);
  node->set_job_count(6);
  node->mutable_duration()->set_seconds(seconds);
  return node;
}

TEST(EstimateText, TimeLeft_IsRounded_AndSaysWhatItRestsOn) {
  std::string text;
  for (const int seconds : {0, 44, 100, 720, 12'000}) {
    text += TimeLeftText(MakeEstimate(seconds, 40, 0), 0) + "\n";
  }
  text += TimeLeftText(MakeEstimate(720, 0, 12), 0) + "\n";
  text += TimeLeftText(MakeEstimate(720, 30, 10), 0) + "\n";
  EXPECT_WORDING("views/time-left", text);
  const v1::Estimate estimate = MakeEstimate(720, 1, 0);
  EXPECT_EQ(TimeLeftText(estimate, 120), TimeLeftText(MakeEstimate(600, 1, 0), 0));
  EXPECT_EQ(TimeLeftText(estimate, 1e6), TimeLeftText(MakeEstimate(0, 1, 0), 0));
}

TEST(EstimateText, Estimate_ListsNodes) {
  v1::Estimate estimate = MakeEstimate(720, 40, 0);
  AddNode(estimate, "g1", 720)->set_dollars(5.8);
  AddNode(estimate, "g2", 100)->set_dollars(0.8);
  estimate.set_dollars(6.6);
  EXPECT_WORDING("views/estimate", EstimateText(estimate, {}));
  estimate.clear_dollars();
  estimate.mutable_nodes(1)->clear_dollars();
  EXPECT_WORDING("views/estimate-without-price", EstimateText(estimate, {}));
  for (int i = 3; i <= 30; ++i) AddNode(estimate, "node-of-a-long-name-" + std::to_string(i), 60);
  for (const int width : {80, 200}) {
    const std::string text = EstimateText(estimate, {width, false});
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(end - at, static_cast<size_t>(width));
      at = end + 1;
    }
  }
  EXPECT_EQ(EstimateText(MakeEstimate(0, 0, 0), {}), "");
}

TEST(EstimateText, Progress_ShowsTheTimeLeft) {
  v1::WatchCampaignResponse message;
  message.mutable_campaign()->set_state(v1::CAMPAIGN_STATE_ACTIVE);
  message.mutable_campaign()->set_case_count(40);
  message.mutable_campaign()->mutable_create_time()->set_seconds(1000);
  *message.mutable_estimate() = MakeEstimate(720, 30, 10);
  AddNode(*message.mutable_estimate(), "g1", 720);
  CampaignProgress progress;
  progress.Apply(message, 1010);
  EXPECT_WORDING("views/progress-time-left", progress.Line(1070) + "\n");
  ASSERT_EQ(progress.Render({80, false}, 1070).size(), 2U);
  EXPECT_WORDING("views/progress-time-left-live", progress.Render({80, false}, 1070)[1] + "\n");
  message.clear_estimate();
  progress.Apply(message, 1080);
  EXPECT_EQ(progress.estimate(), nullptr);
  EXPECT_EQ(progress.Render({80, false}, 1090).size(), 1U);
}

}  // namespace
}  // namespace assay::cli
