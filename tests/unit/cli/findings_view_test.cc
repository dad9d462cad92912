// Views of regressions, outliers, costs and baselines.
#include <gtest/gtest.h>

#include <string>

#include "cli/views/baseline_view.h"
#include "cli/views/cost_view.h"
#include "cli/views/outliers_view.h"
#include "cli/views/regressions_view.h"
#include "tests/unit/cli/analysis_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

constexpr Style kNarrow = {80, false};
constexpr Style kWide = {200, false};

class FindingsView : public testing::Test {
 protected:
  void SetUp() override { UseUtc(); }
};

TEST_F(FindingsView, Incidents_At80And200Columns) {
  const std::string narrow = IncidentsTable(DriverRegressions(), kNarrow);
  EXPECT_WORDING("views/incidents-80-columns", narrow);
  EXPECT_LE(WidestLine(narrow), 80);
  EXPECT_WORDING("views/incidents-200-columns", IncidentsTable(DriverRegressions(), kWide));
  EXPECT_EQ(IncidentsTable({}, kNarrow), "");
}

TEST_F(FindingsView, Regressions_HaveExplanationsAndReruns) {
  const std::string narrow = RegressionsText(DriverRegressions(), 0, kNarrow);
  EXPECT_WORDING("views/regressions-80-columns", narrow);
  EXPECT_LE(WidestLine(narrow), 80);
  EXPECT_WORDING("views/regressions-limit", RegressionsText(DriverRegressions(), 1, kWide));
  EXPECT_WORDING("views/regressions-csv", RegressionsCsv(DriverRegressions()));
}

TEST_F(FindingsView, OnlyConfirmedOnes_CountForTheExitCode) {
  v1::ListRegressionsResponse found = DriverRegressions();
  EXPECT_TRUE(HasConfirmed(found));
  found.mutable_incidents(0)->set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
  found.mutable_regressions(0)->set_state(v1::REGRESSION_STATE_RESOLVED);
  EXPECT_FALSE(HasConfirmed(found));
}

TEST_F(FindingsView, EveryCauseHasAText) {
  v1::ListRegressionsResponse found;
  for (const auto cause :
       {v1::INCIDENT_CAUSE_UNSPECIFIED, v1::INCIDENT_CAUSE_DRIVER, v1::INCIDENT_CAUSE_AGENT,
        v1::INCIDENT_CAUSE_GPU, v1::INCIDENT_CAUSE_NODE, v1::INCIDENT_CAUSE_CASE}) {
    v1::Incident& incident = *found.add_incidents();
    incident.set_cause(cause);
    incident.set_from("a");
    incident.set_to("b");
  }
  EXPECT_WORDING("views/incident-causes", IncidentsTable(found, kNarrow));
}

TEST_F(FindingsView, Outliers_At80And200Columns) {
  const std::string narrow = OutliersText(SlowGpus(), false, kNarrow);
  EXPECT_WORDING("views/outliers-80-columns", narrow);
  EXPECT_LE(WidestLine(narrow), 80);
  EXPECT_WORDING("views/outliers-200-columns", OutliersText(SlowGpus(), true, kWide));
  EXPECT_WORDING("views/outliers-csv", OutliersCsv(SlowGpus()));
}

TEST_F(FindingsView, Costs_MarkTheCheapest) {
  const std::string narrow = CostsTable(Costs(), kNarrow);
  EXPECT_WORDING("views/costs-80-columns", narrow);
  EXPECT_LE(WidestLine(narrow), 80);
  EXPECT_WORDING("views/costs-200-columns", CostsTable(Costs(), kWide));
  EXPECT_WORDING("views/costs-csv", CostsCsv(Costs()));
}

TEST_F(FindingsView, Baselines) {
  EXPECT_WORDING("views/baseline", BaselineText(GemmBaseline(), kNarrow));
  EXPECT_WORDING("views/baselines", BaselinesTable({GemmBaseline()}, kNarrow));
  EXPECT_WORDING("views/baseline-csv",
                 BaselineCsv(GemmBaseline()) + BaselinesCsv({GemmBaseline()}));
}

TEST_F(FindingsView, HostileNames_ArePrintable) {
  v1::ListRegressionsResponse regressions = DriverRegressions();
  regressions.mutable_incidents(0)->set_incident_id(kHostile);
  regressions.mutable_incidents(0)->set_to(kHostile);
  v1::Regression& regression = *regressions.mutable_regressions(0);
  regression.mutable_case_()->set_benchmark(kHostile);
  regression.mutable_case_()->set_unit(kHostile);
  regression.mutable_place()->set_node_names(0, kHostile);
  regression.mutable_explanations(0)->set_field(kHostile);
  regression.set_acknowledge_note(kHostile);
  v1::ListOutliersResponse outliers = SlowGpus();
  outliers.mutable_outliers(0)->mutable_place()->set_node_names(0, kHostile);
  v1::GetCostsResponse costs = Costs();
  costs.mutable_rows(0)->set_provider(kHostile);
  costs.mutable_rows(0)->set_rate_unit(kHostile);
  v1::Baseline baseline = GemmBaseline();
  baseline.set_name(kHostile);
  baseline.set_filter(kHostile);
  const std::string text = IncidentsTable(regressions, kNarrow) +
                           RegressionsText(regressions, 0, kNarrow) +
                           OutliersText(outliers, true, kNarrow) + CostsTable(costs, kNarrow) +
                           BaselineText(baseline, kNarrow) + BaselinesTable({baseline}, kNarrow) +
                           RegressionsCsv(regressions) + OutliersCsv(outliers) + CostsCsv(costs) +
                           BaselineCsv(baseline) + BaselinesCsv({baseline});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(RegressionsCsv(regressions).find("\n=a"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
