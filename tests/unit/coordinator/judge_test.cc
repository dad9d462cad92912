// Tests how new results are judged: regressions, their confirmation, incidents and outliers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

// Eight nodes with one GPU each, which run one campaign a night.
class JudgeTest : public FleetFixture {
 protected:
  // Returns the median of a node, by its index, in a night.
  using Median = std::function<double(size_t node, int night)>;

  JudgeTest() {
    for (size_t i = 0; i < kNodes; ++i) {
      nodes_of_fleet.push_back(
          MakeFleetNode("n" + std::to_string(i + 1), static_cast<char>('1' + i), 1));
      Attach(nodes_of_fleet.back());
    }
  }

  // Returns a factor within `size` of 1 that looks random.
  static double Noise(size_t node, int one, double size) {
    const double scattered = 43758.5453 * std::sin(12.9898 * static_cast<double>(node + 1) +
                                                   78.233 * static_cast<double>(one + 1));
    return 1 + size * (2 * (scattered - std::floor(scattered)) - 1);
  }

  void CompleteAll(const std::function<double(size_t node)>& median) {
    for (size_t i = 0; i < kNodes; ++i) {
      const auto& agent = agents[agents.size() - kNodes + i];
      const v1::CoordinatorMessage* message = agent->Last(Kind::kAssign);
      if (message == nullptr) continue;
      const v1::JobSpec job = message->assign().job();
      if (job.job_id() == done[i]) continue;
      done[i] = job.job_id();
      v1::CaseResult result = ResultOf(job, 0, median(i));
      *result.mutable_start_time() = schema::ToTimestamp(clock.WallNow());
      *result.mutable_end_time() = schema::ToTimestamp(clock.WallNow());
      if (dress) dress(i, result);
      SayResult(agent, result);
      SayFinished(agent, job);
    }
  }

  // Lets all nodes leave, and return with this driver.
  void Upgrade(const std::string& driver) {
    for (size_t i = 0; i < kNodes; ++i) {
      agents[agents.size() - kNodes]->session->OnClosed();
      executor->RunReady();
      v1::NodeDescription& description = *nodes_of_fleet[i].mutable_description();
      description.mutable_inventory()->set_driver_version(driver);
      description.set_agent_instance_id(driver + std::to_string(i));
      Attach(nodes_of_fleet[i]);
    }
  }

  void Wait(Duration time) {
    constexpr Duration kStep = std::chrono::seconds(5);
    for (Duration waited{0}; waited < time; waited += kStep) {
      for (size_t i = 0; i < kNodes; ++i) {
        SayState(agents[agents.size() - kNodes + i], {}, ++sequence);
      }
      executor->Advance(kStep);
    }
  }

  void RunNight(const Median& median) {
    Submit(MakeSpec("gemm"));
    CompleteAll([&](size_t node) { return median(node, night); });
    ++night;
    Wait(std::chrono::minutes(1));
    Judge();
  }

  void Judge() {
    const Status judged = coordinator->judge().Pass();
    ASSERT_TRUE(judged.ok()) << judged;
    executor->RunReady();
  }

  std::vector<v1::Regression> Regressions() {
    storage::RegressionQuery query;
    query.include_closed = true;
    return analysis.ListRegressions(query, {1000, ""})->items;
  }

  // Lets the reruns of a regression take place, each with this median.
  void RunReruns(const std::function<double(size_t node)>& median) {
    constexpr int kPasses = 22;
    for (int i = 0; i < kPasses; ++i) {
      Judge();
      CompleteAll(median);
      Wait(std::chrono::minutes(11));
    }
    Judge();
  }

  static constexpr size_t kNodes = 8;
  std::vector<v1::Node> nodes_of_fleet;
  std::vector<std::string> done = std::vector<std::string>(kNodes);
  // Completes the result of a node, by its index, if set.
  std::function<void(size_t node, v1::CaseResult& result)> dress;
  uint64_t sequence = 10;
  int night = 0;
};

TEST_F(JudgeTest, HealthyFleet_HasNoFindings) {
  for (int i = 0; i < 25; ++i) {
    RunNight([](size_t node, int one) { return 100 * Noise(node, one, 0.005); });
  }
  EXPECT_TRUE(Regressions().empty());
  EXPECT_EQ(coordinator->ListOutliers({})->outliers_size(), 0);
  EXPECT_EQ(coordinator->ListOutliers({})->judged_places(), 8);
}

TEST_F(JudgeTest, SlowerGpu_IsConfirmed_AsThePlacesOwn_AndLaterResolved) {
  const auto slow_from = [](int from, int to) {
    return [=](size_t node, int one) {
      return 100 * Noise(node, one, 0.005) * (node == 2 && one >= from && one < to ? 0.9 : 1);
    };
  };
  for (int i = 0; i < 15; ++i) RunNight(slow_from(14, 99));
  ASSERT_EQ(Regressions().size(), 1U);
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_DETECTED);
  EXPECT_EQ(Regressions()[0].place().node_names(0), "n3");
  RunReruns([](size_t node) { return node == 2 ? 90 : 100; });
  ASSERT_EQ(Regressions().size(), 1U);
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_CONFIRMED);
  EXPECT_EQ(Regressions()[0].scope(), v1::REGRESSION_SCOPE_PLACE);
  // Five reruns confirm it, and three show that the peer is as fast as before.
  EXPECT_EQ(Regressions()[0].reruns_size(), 8);
  EXPECT_NEAR(Regressions()[0].step().ratio(), 0.9, 0.02);
  // The same step is found again in later nights, and stays one regression of one incident.
  for (int i = 0; i < 8; ++i) RunNight(slow_from(14, 99));
  ASSERT_EQ(Regressions().size(), 1U);
  const auto listed = coordinator->ListRegressions({}, {100, ""});
  ASSERT_EQ(listed->incidents_size(), 1);
  EXPECT_EQ(listed->incidents(0).cause(), v1::INCIDENT_CAUSE_GPU);
  EXPECT_EQ(listed->incidents(0).state(), v1::REGRESSION_STATE_CONFIRMED);
  EXPECT_EQ(listed->incidents(0).place().gpu_indices(0), 0);
  EXPECT_TRUE(listed->has_judged_until());
  // It is an outlier too.
  ASSERT_EQ(coordinator->ListOutliers({})->outliers_size(), 1);
  EXPECT_EQ(coordinator->ListOutliers({})->outliers(0).place().node_names(0), "n3");
  EXPECT_EQ(coordinator->ListOutliers({})->outliers(0).cases(0).rank(), 1);

  v1::AcknowledgeRegressionRequest request;
  request.set_id(Regressions()[0].regression_id().substr(0, 8));
  request.set_note("RMA 1234");
  ASSERT_EQ(*coordinator->AcknowledgeRegression(request, kLocalAdmin), 1);
  for (int i = 0; i < 6; ++i) RunNight(slow_from(14, 0));
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_RESOLVED);
  EXPECT_EQ(Regressions()[0].acknowledge_note(), "RMA 1234");
  EXPECT_TRUE(coordinator->ListRegressions({}, {100, ""})->incidents().empty());
}

TEST_F(JudgeTest, SlowRunAlone_IsCleared) {
  for (int i = 0; i < 15; ++i) {
    RunNight([](size_t node, int one) {
      return 100 * Noise(node, one, 0.005) * (node == 5 && one == 14 ? 0.8 : 1);
    });
  }
  ASSERT_EQ(Regressions().size(), 1U);
  RunReruns([](size_t) { return 100; });
  ASSERT_EQ(Regressions().size(), 1U);
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_CLEARED);
  EXPECT_EQ(Regressions()[0].reruns_size(), 3);
}

TEST_F(JudgeTest, RemovedNode_DoesNotStopTheJudge) {
  const auto slow = [](size_t node, int one) {
    return 100 * Noise(node, one, 0.005) * (node == 2 && one >= 14 ? 0.9 : 1);
  };
  for (int i = 0; i < 15; ++i) RunNight(slow);
  ASSERT_EQ(Regressions().size(), 1U);
  CompleteAll([](size_t) { return 90; });
  agents[2]->session->OnClosed();
  executor->RunReady();
  ASSERT_TRUE(nodes.RemoveNode("n3").ok());
  for (int i = 0; i < 3; ++i) {
    Wait(std::chrono::minutes(11));
    Judge();
  }
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_DETECTED);
  EXPECT_GE(Regressions()[0].failed_reruns(), 1);
}

TEST_F(JudgeTest, NewDriver_IsOneIncident) {
  for (int i = 0; i < 12; ++i) {
    RunNight([](size_t node, int one) { return 100 * Noise(node, one, 0.005); });
  }
  Upgrade("590.10");
  for (int i = 0; i < 8; ++i) {
    RunNight([](size_t node, int one) { return 92 * Noise(node, one, 0.005); });
  }
  EXPECT_EQ(Regressions().size(), kNodes);
  const auto listed = coordinator->ListRegressions({}, {100, ""});
  ASSERT_EQ(listed->incidents_size(), 1);
  EXPECT_EQ(listed->incidents(0).cause(), v1::INCIDENT_CAUSE_DRIVER);
  EXPECT_EQ(listed->incidents(0).from(), "580.95.05");
  EXPECT_EQ(listed->incidents(0).to(), "590.10");
  EXPECT_EQ(listed->incidents(0).place_count(), 8);
  // Eight GPUs that are compared with themselves need no reruns.
  EXPECT_EQ(listed->incidents(0).state(), v1::REGRESSION_STATE_CONFIRMED);
  EXPECT_EQ(listed->incidents(0).scope(), v1::REGRESSION_SCOPE_FLEET);

  v1::CompareResultsRequest request;
  request.set_by("driver");
  const auto compared = coordinator->questions().Compare(request);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_EQ(compared->label_a(), "driver 580.95.05");
  ASSERT_EQ(compared->cases_size(), 1);
  EXPECT_EQ(compared->cases(0).verdict(), v1::COMPARISON_VERDICT_REGRESSED);
  EXPECT_EQ(compared->cases(0).common_places(), 8);
  EXPECT_NEAR(compared->cases(0).ratio(), 0.92, 0.01);
}

TEST_F(JudgeTest, Summaries_KeepDriversOffersAndThrottledRunsApart) {
  // Node 0 is throttled, and node 1 costs more.
  for (size_t i = 0; i < kNodes; ++i) {
    nodes_of_fleet[i].mutable_description()->set_provider("vast.ai");
    nodes_of_fleet[i].mutable_description()->set_price_per_hour(i == 1 ? 4 : 2);
  }
  Upgrade("580.95.05");
  dress = [](size_t node, v1::CaseResult& result) {
    if (node == 0) result.mutable_conditions()->add_flags("throttled");
    if (node == 2) result.mutable_conditions()->add_flags("a flag of a newer agent");
  };
  const auto speed = [](double level) {
    return [=](size_t node, int one) {
      return level * Noise(node, one, 0.005) * (node == 0 ? 0.5 : 1);
    };
  };
  for (int i = 0; i < 4; ++i) RunNight(speed(100));
  Upgrade("590.10");
  for (int i = 0; i < 3; ++i) RunNight(speed(90.6));

  const MutexLock lock(database.mutex);
  ASSERT_EQ(database.driver_medians.size(), 4U) << "two drivers, throttled or not";
  for (const auto& one : database.driver_medians) {
    const bool old = one.driver == "580.95.05";
    EXPECT_NEAR(one.median, (old ? 100 : 90.6) * (one.throttled ? 0.5 : 1), 0.5);
    EXPECT_EQ(one.places, one.throttled ? 1 : 7);
    EXPECT_EQ(one.runs, one.places * (old ? 4 : 3));
    ASSERT_TRUE(one.noise);
    EXPECT_GT(*one.noise, 0.0002);
    EXPECT_LT(*one.noise, 0.01);
    EXPECT_LT(one.oldest, one.newest);
  }
  ASSERT_EQ(database.driver_changes.size(), 2U);
  for (const auto& one : database.driver_changes) {
    EXPECT_EQ(one.driver_before + " " + one.driver, "580.95.05 590.10");
    EXPECT_NEAR(one.comparison.ratio(), 0.906, 0.01);
    EXPECT_EQ(one.comparison.common_places(), one.throttled ? 1 : 7);
    // One GPU whose runs do not alternate has no verdict.
    EXPECT_EQ(one.comparison.verdict(), one.throttled ? v1::COMPARISON_VERDICT_INCONCLUSIVE
                                                      : v1::COMPARISON_VERDICT_REGRESSED);
    EXPECT_EQ(one.comparison.has_ratio_low(), !one.throttled);
    EXPECT_EQ(one.comparison.missing(), one.throttled ? v1::MISSING_EVIDENCE_ALTERNATING_RUNS
                                                      : v1::MISSING_EVIDENCE_UNSPECIFIED);
  }
  ASSERT_EQ(database.case_costs.size(), 3U);
  for (const auto& one : database.case_costs) {
    EXPECT_EQ(one.provider, "vast.ai");
    EXPECT_EQ(one.places, one.dollars_per_hour == 4 || one.throttled ? 1 : 6);
    EXPECT_EQ(one.runs, one.places * 7);
  }
  ASSERT_EQ(database.node_flags.size(), 2U);
  EXPECT_EQ(database.node_flags[0].node_name + " " + database.node_flags[0].flag, "n1 throttled");
  EXPECT_EQ(database.node_flags[1].node_name + " " + database.node_flags[1].flag, "n3 other");
  EXPECT_EQ(database.node_flags[0].flagged_runs, 7);
  EXPECT_EQ(database.node_flags[0].runs, 7);
}

TEST_F(JudgeTest, WithoutReruns_NothingIsConfirmed) {
  executor = std::make_unique<ManualExecutor>(clock);
  Options options{"no-reruns"};
  options.rerun_share = 0;
  coordinator =
      std::make_unique<Coordinator>(Environment{clock, *executor, jobs, results, nodes, fleet, work,
                                                analysis, schedules, observer},
                                    options);
  coordinator->Start({});
  executor->RunReady();
  for (const v1::Node& node : nodes_of_fleet) Attach(node);
  for (int i = 0; i < 20; ++i) {
    RunNight([](size_t node, int one) {
      return 100 * Noise(node, one, 0.005) * (node == 2 && one >= 12 ? 0.9 : 1);
    });
  }
  ASSERT_EQ(Regressions().size(), 1U);
  EXPECT_EQ(Regressions()[0].state(), v1::REGRESSION_STATE_DETECTED);
  EXPECT_TRUE(Regressions()[0].is_step());
}

TEST_F(JudgeTest, Comparisons_SayWhatTheyNeed) {
  RunNight([](size_t, int) { return 100; });
  v1::CompareResultsRequest request;
  EXPECT_EQ(coordinator->questions().Compare(request).status().code(), Code::kInvalidArgument);
  request.set_by("colour");
  EXPECT_EQ(coordinator->questions().Compare(request).status().reason(), Reason::kUnknownField);
  request.set_by("driver");
  EXPECT_EQ(coordinator->questions().Compare(request).status().code(), Code::kInvalidArgument);
  request.set_by("node");
  request.set_value_a("n1");
  request.set_value_b("n2");
  const auto compared = coordinator->questions().Compare(request);
  ASSERT_TRUE(compared.ok()) << compared.status();
  ASSERT_EQ(compared->cases_size(), 1);
  EXPECT_EQ(compared->cases(0).verdict(), v1::COMPARISON_VERDICT_INCONCLUSIVE);
  EXPECT_EQ(compared->cases(0).missing(), v1::MISSING_EVIDENCE_RUNS);
  request.set_value_b("n2\" OR node != \"x");
  EXPECT_EQ(coordinator->questions().Compare(request)->cases_size(), 0);
}

TEST_F(JudgeTest, Baseline_IsHeldByAcceptRules) {
  RunNight([](size_t, int) { return 100; });
  v1::CreateBaselineRequest create;
  create.set_name("may");
  create.set_filter("benchmark = gemm");
  const auto baseline = coordinator->questions().CreateBaseline(create, "ann");
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  EXPECT_EQ(baseline->case_count(), 1);
  EXPECT_EQ(baseline->run_count(), 8);
  create.set_name("two words");
  EXPECT_EQ(coordinator->questions().CreateBaseline(create, "").status().code(),
            Code::kInvalidArgument);

  v1::CampaignSpec spec = MakeSpec("gemm");
  spec.add_accept()->set_text("gemm.tflops >= 95% of baseline mai");
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = spec;
  EXPECT_EQ(coordinator->CreateCampaign(request).status().reason(), Reason::kInvalidCampaign);
  spec.mutable_accept(0)->set_text("gemm.tflops >= 95% of baseline may");
  spec.add_accept()->set_text("gemm.tflops spread <= 5%");
  const v1::Campaign campaign = Submit(spec);
  CompleteAll([](size_t node) { return node == 3 ? 94 : 100; });
  ASSERT_EQ(Campaign(campaign).rules_size(), 2);
  EXPECT_EQ(Campaign(campaign).rules(0).verdict(), v1::VERDICT_FAILED);
  EXPECT_EQ(Campaign(campaign).rules(1).verdict(), v1::VERDICT_FAILED);
  const v1::Campaign second = Submit(spec);
  CompleteAll([](size_t node) { return node == 3 ? 96 : 100; });
  EXPECT_EQ(Campaign(second).verdict(), v1::VERDICT_PASSED);
}

}  // namespace
}  // namespace assay::coordinator
