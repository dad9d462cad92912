#include "cli/views/sides_view.h"

#include <gtest/gtest.h>

#include "tests/unit/cli/analysis_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(SidesView, Drivers_At80And200Columns) {
  const std::string narrow = SidesText(DriverComparison(), 50, {80, false});
  EXPECT_WORDING("views/sides-80-columns", narrow);
  EXPECT_LE(WidestLine(narrow), 80);
  EXPECT_WORDING("views/sides-200-columns", SidesText(DriverComparison(), 50, {200, false}));
}

TEST(SidesView, LimitLeavesOutRows) {
  const std::string text = SidesText(DriverComparison(), 2, {});
  EXPECT_EQ(text.find("+12.5%") != std::string::npos, true);
  EXPECT_WORDING("views/sides-limit", SidesText(DriverComparison(), 2, {80, false}));
}

TEST(SidesView, NothingRegressed) {
  v1::CompareResultsResponse comparison = DriverComparison();
  EXPECT_TRUE(HasRegressed(comparison));
  comparison.mutable_cases()->DeleteSubrange(0, 4);
  comparison.set_label_a("A");
  comparison.set_label_b("node sim-0007");
  EXPECT_FALSE(HasRegressed(comparison));
  EXPECT_WORDING("views/sides-none-regressed", SidesText(comparison, 0, {80, false}));
}

TEST(SidesView, NothingCommon_NamesTheFields) {
  v1::CompareResultsResponse comparison = DriverComparison();
  comparison.clear_cases();
  comparison.add_differing_fields("gpu.model");
  comparison.add_differing_fields("nccl");
  const std::string both = SidesText(comparison, 0, {80, false});
  comparison.set_runs_a(0);
  EXPECT_WORDING("views/sides-nothing-common", both + SidesText(comparison, 0, {80, false}));
}

TEST(SidesView, HostileNames_ArePrintable) {
  v1::CompareResultsResponse comparison = DriverComparison();
  comparison.set_label_a(kHostile);
  comparison.mutable_cases(0)->mutable_case_()->set_benchmark(kHostile);
  comparison.mutable_cases(0)->mutable_case_()->set_unit(kHostile);
  const std::string text = SidesText(comparison, 0, {80, false});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_LE(WidestLine(text), 80);
  EXPECT_EQ(SidesCsv(comparison).find('\x1b'), std::string::npos);
}

TEST(SidesView, Csv_HasOneRecordPerCase) {
  EXPECT_WORDING("views/sides-csv", SidesCsv(DriverComparison()));
}

}  // namespace
}  // namespace assay::cli
