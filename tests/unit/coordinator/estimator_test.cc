// Tests estimates of time and money.
#include <gtest/gtest.h>

#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/durations.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

double SecondsOf(const google::protobuf::Duration& duration) {
  return std::chrono::duration<double>(FromProto(duration)).count();
}

class EstimatorTest : public FleetOfTwo {
 protected:
  // A node whose hour costs so many dollars; 0: unknown.
  static v1::Node Priced(v1::Node node, double price) {
    if (price > 0) node.mutable_description()->set_price_per_hour(price);
    return node;
  }

  // Two cases on each node.
  static v1::CampaignSpec TwoCases() {
    v1::CampaignSpec spec = MakeSpec("cpu_gemm");
    spec.mutable_benchmarks(0)->mutable_axes(0)->mutable_list()->add_values("128");
    return spec;
  }

  v1::Estimate Preview(const v1::CampaignSpec& spec) {
    v1::CreateCampaignRequest request;
    *request.mutable_spec() = spec;
    request.set_validate_only(true);
    const auto response = coordinator->PreviewCampaign(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->estimate() : v1::Estimate();
  }

  // Returns what is left of the campaign.
  v1::Estimate Rest(const v1::Campaign& campaign) {
    const auto costs =
        coordinator->estimator().CostsOf(campaign.campaign_id(), campaign.spec().effort());
    EXPECT_TRUE(costs.ok()) << costs.status();
    return *coordinator->estimator().OfRest(campaign.campaign_id(), *costs);
  }

  // Sends a result that took so long.
  void SayTimed(const std::shared_ptr<FakeAgent>& agent, const v1::JobSpec& job, int index,
                int seconds) {
    v1::CaseResult result = ResultOf(job, index);
    result.mutable_measurements(0)->mutable_method()->set_effort("standard");
    *result.mutable_start_time() = schema::ToTimestamp(clock.WallNow());
    clock.Advance(std::chrono::seconds(seconds));
    *result.mutable_end_time() = schema::ToTimestamp(clock.WallNow());
    SayResult(agent, result);
  }
};

TEST_F(EstimatorTest, WithoutHistory_TheMethodsLimitsOfTheEffortCount) {
  Attach(a_);
  double last = 0;
  for (const v1::Effort effort : {v1::EFFORT_QUICK, v1::EFFORT_STANDARD, v1::EFFORT_THOROUGH}) {
    v1::CampaignSpec spec = TwoCases();
    spec.set_effort(effort);
    const v1::Estimate estimate = Preview(spec);
    EXPECT_EQ(estimate.cases_from_method(), 2);
    EXPECT_EQ(estimate.cases_from_history(), 0);
    ASSERT_EQ(estimate.nodes_size(), 1);
    EXPECT_EQ(estimate.nodes(0).node_name(), "a");
    EXPECT_EQ(estimate.nodes(0).job_count(), 1);
    EXPECT_GT(SecondsOf(estimate.duration()), last);
    last = SecondsOf(estimate.duration());
  }
}

TEST_F(EstimatorTest, HistoryOfTheSameCases_ReplacesTheLimits) {
  const auto agent = Attach(Priced(a_, 3.6));
  const v1::Campaign campaign = Submit(TwoCases());
  const v1::JobSpec job = AssignedTo(agent);
  EXPECT_EQ(Rest(campaign).cases_from_method(), 2);
  SayTimed(agent, job, 0, 4);
  const v1::Estimate rest = Rest(campaign);
  EXPECT_EQ(rest.cases_from_history() + rest.cases_from_method(), 1);
  SayTimed(agent, job, 1, 2);
  SayFinished(agent, job);
  EXPECT_EQ(Rest(campaign).nodes_size(), 0);

  v1::CampaignSpec again = TwoCases();
  again.set_repetitions(3);
  const v1::Estimate estimate = Preview(again);
  EXPECT_EQ(estimate.cases_from_history(), 6);
  EXPECT_EQ(estimate.cases_from_method(), 0);
  ASSERT_EQ(estimate.nodes_size(), 1);
  EXPECT_EQ(estimate.nodes(0).job_count(), 3);
  // Three jobs of 6 s, with some seconds for each job, at 0.1 cents a second.
  EXPECT_GT(SecondsOf(estimate.duration()), 18);
  EXPECT_LT(SecondsOf(estimate.duration()), 30);
  EXPECT_NEAR(estimate.dollars(), SecondsOf(estimate.duration()) / 1000, 1e-6);
  again.set_effort(v1::EFFORT_QUICK);
  EXPECT_EQ(Preview(again).cases_from_history(), 0);
}

TEST_F(EstimatorTest, JobsWithAChoice_AreSpreadEvenly) {
  Attach(Priced(a_, 1));
  Attach(Priced(b_, 2));
  v1::CampaignSpec spec = TwoCases();
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_repetitions(4);
  const v1::Estimate estimate = Preview(spec);
  ASSERT_EQ(estimate.nodes_size(), 2);
  EXPECT_EQ(estimate.nodes(0).job_count(), 2);
  EXPECT_EQ(estimate.nodes(1).job_count(), 2);
  EXPECT_EQ(SecondsOf(estimate.nodes(0).duration()), SecondsOf(estimate.duration()));
  EXPECT_TRUE(estimate.has_dollars());
}

TEST_F(EstimatorTest, JobsOnDifferentGpus_RunAtTheSameTime) {
  Attach(MakeFleetNode("g", '7', 8));
  v1::CampaignSpec spec = MakeSpec("gemm");
  const double one_after_the_other = SecondsOf(Preview(spec).duration());
  spec.set_exclusive(v1::EXCLUSIVITY_GPU);
  EXPECT_NEAR(SecondsOf(Preview(spec).duration()), one_after_the_other / 8, 1e-6);
}

TEST_F(EstimatorTest, DollarsAreAbsentIfThePriceOfANodeIsUnknown) {
  Attach(Priced(a_, 1));
  Attach(b_);
  const v1::Estimate estimate = Preview(TwoCases());
  EXPECT_FALSE(estimate.has_dollars());
  ASSERT_EQ(estimate.nodes_size(), 2);
  EXPECT_TRUE(estimate.nodes(0).has_dollars());
  EXPECT_FALSE(estimate.nodes(1).has_dollars());
}

}  // namespace
}  // namespace assay::coordinator
