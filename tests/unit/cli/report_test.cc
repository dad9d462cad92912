// Tests the page of `assay report`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/report/html.h"
#include "cli/report/report_page.h"

namespace assay::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kHostile[] = "</script><script>alert(1)</script>\"'&";

void AddTexts(v1::TabulateResultsResponse& table, const std::string& field,
              const std::vector<std::string>& rows) {
  v1::ResultColumn& column = *table.add_columns();
  column.set_field(field);
  for (const std::string& row : rows) {
    column.add_texts(row);
    column.add_indices(column.texts_size() - 1);
  }
  table.set_row_count(static_cast<int>(rows.size()));
}

void AddNumbers(v1::TabulateResultsResponse& table, const std::string& field,
                const std::vector<double>& rows) {
  v1::ResultColumn& column = *table.add_columns();
  column.set_field(field);
  for (const double row : rows) column.add_numbers(row);
}

ReportData HostileData() {
  ReportData data;
  data.filter = std::string("node = ") + kHostile;
  data.time = "2026-11-26T00:00:00.000Z";
  data.version = "1.2.3";
  v1::Campaign campaign;
  campaign.set_name(kHostile);
  v1::RuleVerdict& rule = *campaign.add_rules();
  rule.set_rule(kHostile);
  rule.set_explanation(kHostile);
  rule.set_verdict(v1::VERDICT_FAILED);
  data.campaign = campaign;
  v1::GetCampaignProgressResponse progress;
  v1::FailureSummary& failure = *progress.add_failures();
  failure.set_benchmark(kHostile);
  failure.add_node_names(kHostile);
  failure.mutable_failure()->set_message(kHostile);
  data.progress = progress;
  const std::vector<std::string> names(3, kHostile);
  AddTexts(data.results, "benchmark", names);
  AddTexts(data.results, "metric", names);
  AddTexts(data.results, "unit", {"GB/s", "GB/s", "GB/s"});
  AddTexts(data.results, "node", names);
  AddNumbers(data.results, "median", {1, 2, 3});
  return data;
}

TEST(ReportTest, HostileNames_StayText) {
  const std::string page = ReportPage(HostileData(), {"let a = 1;", "p { color: red }", ""});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  // The two scripts are the data and the page's own.
  size_t scripts = 0;
  for (size_t at = 0; (at = page.find("<script", at)) != page.npos; ++at) ++scripts;
  EXPECT_EQ(scripts, 2u);
  const std::string begin = "id=\"assay-report\">";
  const size_t from = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(data["filter"], std::string("node = ") + kHostile);
  EXPECT_EQ(data["campaign"]["name"], kHostile);
  EXPECT_EQ(data["results"]["rowCount"], 3);
}

TEST(ReportTest, VerdictsReadWithoutScript) {
  const std::string page = ReportPage(HostileData(), {});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, AllOf(HasSubstr("Accept rules"), HasSubstr("failed"), HasSubstr("Failures"),
                          HasSubstr("2.000 GB/s"), HasSubstr("script-src 'none'")));
}

// The hash of "let a = 1;" is that of: printf 'let a = 1;' | openssl dgst -sha256 -binary | base64
TEST(ReportTest, PolicyNamesTheScriptByItsHash) {
  const std::string page = ReportPage(HostileData(), {"let a = 1;", "", "'sha256-plot'"});
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='"));
  EXPECT_THAT(page, HasSubstr("'sha256-plot'"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportTest, SizesMakeALine_OtherParametersAStrip) {
  ReportData data;
  AddTexts(data.results, "benchmark",
           {"all_reduce", "all_reduce", "all_reduce", "all_reduce", "gemm"});
  AddTexts(data.results, "metric",
           {"bus_bandwidth", "bus_bandwidth", "bus_bandwidth", "bus_bandwidth", "tflops"});
  AddNumbers(data.results, "median", {1, 2, 3, 4, 5});
  AddNumbers(data.results, "parameters.bytes", {1024, 2048, 4096, 8192, std::nan("")});
  const std::string page = ReportPage(data, {});
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("data-figure=\"bandwidth\""), HasSubstr("data-benchmark=\"all_reduce\""),
            HasSubstr("data-figure=\"strip\" data-by=\"node\" data-benchmark=\"gemm\"")));
}

TEST(ReportTest, VaryingParameters_NameSizesFirst) {
  v1::GroupResultsResponse groups;
  for (const char* bytes : {"1", "2"}) {
    v1::CaseResult& run = *groups.add_groups()->mutable_best()->mutable_case_result();
    run.set_benchmark("all_reduce");
    (*run.mutable_parameters())["bytes"] = bytes;
    (*run.mutable_parameters())["algo"] = bytes;
    (*run.mutable_parameters())["dtype"] = "fp32";
  }
  EXPECT_EQ(VaryingParameters(groups, 10), (std::vector<std::string>{"bytes", "algo"}));
  EXPECT_EQ(VaryingParameters(groups, 1), (std::vector<std::string>{"bytes"}));
}

TEST(HtmlTest, Cells_SortByTheirNumbers) {
  HtmlTable table({"A", "B"});
  table.Add({"<b>", HtmlCell("1.5 k", 1500)});
  EXPECT_THAT(table.Html(), AllOf(HasSubstr("&lt;b&gt;"), HasSubstr("data-value=\"1500\""),
                                  HasSubstr("class=\"number\"")));
}

}  // namespace
}  // namespace assay::cli
