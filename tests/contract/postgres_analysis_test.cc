// Analyses in PostgreSQL, where transactions end in any order, and what dashboards read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "storage/identity.h"
#include "storage/postgres/stores.h"
#include "tests/contract/postgres_stores.h"

namespace assay::storage {
namespace {

// Stores with an AnalysisStore that returns no lineage again.
class ChangedLineagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pool_ = *Pool::Create(stores_.conninfo(), {});
    analysis_ = MakeAnalysisStore(*pool_, *pool_, Duration(0));
    ASSERT_TRUE(stores_.nodes().Connect("c", MakeNode("a", "a"), "", kStale).ok());
    ASSERT_TRUE(stores_.jobs().CreateCampaign(MakeCampaign({MakeJob({"a"}, 2)})).ok());
    const auto leased = stores_.jobs().ClaimJobs({"c", std::chrono::hours(1), {"a"}, 1});
    ASSERT_TRUE(leased.ok() && leased->size() == 1) << leased.status();
    for (int i = 0; i < 2; ++i) {
      const v1::CaseResult result = MakeResult(leased->at(0), i);
      lineages_.push_back(IdentityOf(result).lineage_id);
      ASSERT_TRUE(stores_.results().Commit(AsSent({result})).ok());
    }
  }

  ChangedLineages Changed(const std::string& cursor) {
    const auto changed = analysis_->ListChangedLineages(cursor);
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.ok() ? *changed : ChangedLineages();
  }

  // Stores a copy of the results of a lineage.
  static void StoreAgain(pqxx::transaction_base& transaction, const std::string& lineage_id) {
    transaction.exec_params(
        "INSERT INTO result (result_id, series_key, origin_key, campaign_id, job_id, case_index,"
        "  repetition, \"primary\", outcome, median, end_time) "
        "SELECT gen_random_uuid(), series_key, origin_key, campaign_id, job_id, case_index, 1,"
        "  \"primary\", outcome, median, end_time FROM result JOIN series USING (series_key) "
        "WHERE lineage_id = $1",
        lineage_id);
  }

  PostgresStores stores_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<AnalysisStore> analysis_;
  std::vector<std::string> lineages_;  // Of case 0 and 1.
};

TEST_F(ChangedLineagesTest, TransactionThatEndsLateIsNotMissed) {
  const ChangedLineages first = Changed("");
  EXPECT_THAT(first.lineage_ids, ::testing::UnorderedElementsAreArray(lineages_));
  EXPECT_TRUE(Changed(first.cursor).lineage_ids.empty());
  pqxx::connection connection(stores_.conninfo());
  ChangedLineages changed;
  {
    pqxx::work late(connection);
    StoreAgain(late, lineages_[0]);
    pqxx::connection other(stores_.conninfo());
    pqxx::work early(other);
    StoreAgain(early, lineages_[1]);
    early.commit();
    changed = Changed(first.cursor);
    EXPECT_THAT(changed.lineage_ids, ::testing::ElementsAre(lineages_[1]));
    late.commit();
  }
  changed = Changed(changed.cursor);
  EXPECT_THAT(changed.lineage_ids, ::testing::Contains(lineages_[0]));
  EXPECT_TRUE(Changed(changed.cursor).lineage_ids.empty());
}

TEST_F(ChangedLineagesTest, ReaderThatNeverEndsChangesNothing) {
  pqxx::connection connection(stores_.conninfo());
  pqxx::work reader(connection);
  reader.exec("SELECT count(*) FROM result");
  const ChangedLineages first = Changed("");
  EXPECT_FALSE(first.lineage_ids.empty());
  EXPECT_TRUE(Changed(first.cursor).lineage_ids.empty());
}

TEST_F(ChangedLineagesTest, AfterALongTimeEverySeriesIsSearched) {
  const std::string cursor = Changed("").cursor;
  const int64_t microseconds = std::stoll(cursor.substr(1));
  const int64_t week = 7LL * 86'400 * 1'000'000;
  EXPECT_EQ(Changed("l" + std::to_string(microseconds - week)).lineage_ids.size(), 2U);
  stores_.Execute("DELETE FROM result WHERE case_index = 0");
  EXPECT_THAT(Changed("l" + std::to_string(microseconds - week)).lineage_ids,
              ::testing::ElementsAre(lineages_[1]));
  EXPECT_THAT(Changed("").lineage_ids, ::testing::ElementsAre(lineages_[1]));
}

TEST_F(ChangedLineagesTest, CursorOfAClockThatWasAheadMissesNothing) {
  const int64_t ahead = std::stoll(Changed("").cursor.substr(1)) + 3'600'000'000;
  const ChangedLineages changed = Changed("l" + std::to_string(ahead));
  pqxx::connection connection(stores_.conninfo());
  pqxx::work work(connection);
  StoreAgain(work, lineages_[0]);
  work.commit();
  EXPECT_THAT(Changed(changed.cursor).lineage_ids, ::testing::ElementsAre(lineages_[0]));
}

TEST(AnalysisViews, ShowFindingsToPeople) {
  PostgresStores stores;
  Findings findings;
  findings.lineage_ids = {"l"};
  v1::Regression& regression = findings.regressions.emplace_back();
  regression.set_regression_id("r1");
  regression.set_incident_id("i1");
  regression.set_state(v1::REGRESSION_STATE_CONFIRMED);
  regression.set_scope(v1::REGRESSION_SCOPE_NO_PEER);
  v1::CaseIdentity& identity = *regression.mutable_case_();
  identity.set_lineage_id("l");
  identity.set_benchmark("gemm");
  (*identity.mutable_parameters())["m"] = "8192";
  (*identity.mutable_parameters())["dtype"] = "bf16";
  identity.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  identity.mutable_hardware()->set_gpu_model("H200");
  regression.mutable_place()->add_node_names("g'1");
  regression.mutable_place()->add_gpu_uuids("GPU-1");
  regression.mutable_step()->set_ratio(0.75);
  v1::Incident& incident = findings.incidents.emplace_back();
  incident.set_incident_id("i1");
  incident.set_cause(v1::INCIDENT_CAUSE_CASE);
  incident.set_state(v1::REGRESSION_STATE_CLEARED);
  v1::Outlier& outlier = findings.outliers.emplace_back();
  outlier.set_kind(v1::OUTLIER_KIND_SLOW);
  *outlier.mutable_place() = regression.place();
  *outlier.add_cases()->mutable_case_() = identity;
  identity.mutable_hardware()->set_gpu_count(2);
  identity.mutable_hardware()->set_topology("nvlink");
  identity.mutable_hardware()->set_mig_profile("1g.18gb");
  const WallTime time{std::chrono::seconds(60)};
  Findings::DriverMedian median{identity, "590.10", false, 700, 0.01, {}, 0.75, 9, 3, time, time};
  findings.driver_medians = {median, median};
  findings.driver_medians[1].throttled = true;
  findings.driver_medians[1].noise_floor = 0.002;
  findings.case_costs = {{identity, "vast.ai", 2, false, 700, 9, 3, time}};
  findings.node_flags = {{identity, "g'1", "throttled", 4, 9, time}};
  ASSERT_TRUE(stores.analysis().PutFindings(findings, 0).ok());
  v1::Baseline baseline;
  baseline.set_name("golden");
  *baseline.add_cases()->mutable_case_() = identity;
  ASSERT_TRUE(stores.analysis().PutBaseline(baseline).ok());
  v1::Annotation annotation;
  annotation.set_annotation_id("a1");
  annotation.set_text("moved");
  ASSERT_TRUE(stores.analysis().PutAnnotation(annotation).ok());

  pqxx::connection reader(stores.conninfo() + " user=assay_reader");
  pqxx::work work(reader);
  const auto row = [&](const std::string& sql) {
    std::string text;
    for (const auto& field : work.exec(sql)[0]) text += field.as<std::string>("-") + "|";
    return text;
  };
  EXPECT_EQ(row("SELECT state, scope, open, benchmark, parameter_text, direction, gpu_model,"
                "  node_name, gpu_id, change, resolved_time FROM regression_view"),
            "confirmed|no_peer|t|gemm|dtype=bf16 m=8192|higher|H200|g'1|GPU-1|-0.25|-|");
  EXPECT_EQ(row("SELECT state, cause, open FROM incident_view"), "cleared|case|f|");
  EXPECT_EQ(row("SELECT kind, gpu_id, z, power_limited FROM outlier_view"), "slow|GPU-1|0|f|");
  EXPECT_EQ(row("SELECT driver, driver_order, median, noise, noise_floor, efficiency_spec, runs,"
                "  places, extract(epoch FROM newest_time)::int, standard, conditions "
                "FROM driver_median_view WHERE NOT throttled"),
            "590.10|{590,10}|700|0.01|-|0.75|9|3|60|t|MIG 1g.18gb, 2 GPUs nvlink|");
  EXPECT_EQ(row("SELECT noise_floor, standard, conditions FROM driver_median_view WHERE throttled"),
            "0.002|f|throttled, MIG 1g.18gb, 2 GPUs nvlink|");
  EXPECT_EQ(row("SELECT provider, dollars_per_hour, per_dollar, places FROM case_cost_view"),
            "vast.ai|2|350|3|");
  EXPECT_EQ(row("SELECT node_name, flag, flagged_runs, runs FROM node_flag_view"),
            "g'1|throttled|4|9|");
  EXPECT_EQ(row("SELECT name, benchmark, median FROM baseline_view"), "golden|gemm|0|");
  EXPECT_EQ(row("SELECT text, node_name FROM annotation_view"), "moved|-|");
}

// Returns the verdict and p value of a case as analyses do: regressed if there is a p value
// below 1.
Findings::DriverChange Change(const std::string& lineage_id, double p_value) {
  Findings::DriverChange change;
  change.comparison.mutable_case_()->set_lineage_id(lineage_id);
  change.comparison.set_verdict(v1::COMPARISON_VERDICT_REGRESSED);
  change.comparison.set_ratio(0.9);
  change.comparison.set_ratio_low(0.8);
  change.comparison.set_ratio_high(0.99);
  change.p_value = p_value;
  change.driver_before = "580.1";
  change.driver = "590.1";
  return change;
}

TEST(AnalysisViews, VerdictsOnADriverHoldOverAllItsCases) {
  PostgresStores stores;
  // At 1% and with four cases, the limits of Benjamini and Hochberg are 0.25% to 1%.
  Findings findings;
  findings.driver_changes = {Change("a", 0.001), Change("b", 0.0049), Change("c", 0.009),
                             Change("d", 0.0101)};
  // Too few runs: does not count as a comparison.
  findings.driver_changes.push_back(Change("e", 1));
  findings.driver_changes.back().comparison.clear_ratio_low();
  findings.driver_changes.back().comparison.clear_ratio_high();
  findings.driver_changes.back().comparison.set_verdict(v1::COMPARISON_VERDICT_INCONCLUSIVE);
  // Another driver is another comparison.
  findings.driver_changes.push_back(Change("f", 0.0099));
  findings.driver_changes.back().driver = "600.1";
  for (const auto& change : findings.driver_changes) {
    findings.lineage_ids.push_back(change.comparison.case_().lineage_id());
  }
  const auto verdicts = [&] {
    pqxx::connection reader(stores.conninfo() + " user=assay_reader");
    pqxx::work work(reader);
    std::vector<std::string> rows;
    for (const auto& row :
         work.exec("SELECT lineage_id || ' ' || verdict FROM driver_change_view ORDER BY 1")) {
      rows.push_back(row[0].as<std::string>());
    }
    return rows;
  };
  ASSERT_TRUE(stores.analysis().PutFindings(findings, 0).ok());
  EXPECT_THAT(verdicts(),
              ::testing::ElementsAre("a regressed", "b regressed", "c inconclusive",
                                     "d inconclusive", "e inconclusive", "f regressed"));
  Findings next;
  next.lineage_ids = {"a", "d", "e"};
  next.driver_changes = {Change("a", 0.001)};
  ASSERT_TRUE(stores.analysis().PutFindings(next, 0).ok());
  EXPECT_THAT(verdicts(),
              ::testing::ElementsAre("a regressed", "b regressed", "c regressed", "f regressed"))
      << "replaced by lineage";
}

}  // namespace
}  // namespace assay::storage
