// Tests the page of `assay report`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "cli/report/html.h"
#include "cli/report/report_page.h"
#include "common/text.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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

// An element of a page. None of those that the tests look at contains one of its own kind.
struct Element {
  std::map<std::string, std::string> attributes;
  std::string content;  // Up to the next end tag of the same name.
};

// Returns all HTML elements with this name, wherever their start tag is in the text.
std::vector<Element> Elements(const std::string& html, const std::string& name) {
  static const std::regex kAttribute("([a-z-]+)=\"([^\"]*)\"");
  const std::regex start_tag("<" + name + "\\b[^>]*>");
  std::vector<Element> elements;
  for (std::sregex_iterator tag(html.begin(), html.end(), start_tag), none; tag != none; ++tag) {
    Element& element = elements.emplace_back();
    const std::string text = tag->str();
    for (std::sregex_iterator i(text.begin(), text.end(), kAttribute); i != none; ++i) {
      element.attributes[i->str(1)] = i->str(2);
    }
    const auto begin = static_cast<size_t>(tag->position() + tag->length());
    const size_t end = html.find("</" + name + ">", begin);
    if (end != html.npos) element.content = html.substr(begin, end - begin);
  }
  return elements;
}

// Returns the sources of each directive of the page's content security policy.
std::map<std::string, std::vector<std::string>> PolicyOf(const std::string& page) {
  std::map<std::string, std::vector<std::string>> policy;
  for (const Element& meta : Elements(page, "meta")) {
    const auto kind = meta.attributes.find("http-equiv");
    if (kind == meta.attributes.end() || kind->second != "Content-Security-Policy") continue;
    for (const std::string_view directive : Split(meta.attributes.at("content"), ';')) {
      std::vector<std::string> words;
      for (const std::string_view word : Split(directive, ' ')) {
        if (!word.empty()) words.emplace_back(word);
      }
      // Browsers ignore a directive that is given again.
      if (!words.empty()) {
        policy.emplace(words[0], std::vector<std::string>(words.begin() + 1, words.end()));
      }
    }
  }
  return policy;
}

TEST(ReportTest, HostileNames_StayText) {
  const std::string page = ReportPage(HostileData(), {"let a = 1;", "p { color: red }", ""});
  // The two scripts are the data and the page's own.
  const std::vector<Element> scripts = Elements(page, "script");
  ASSERT_THAT(scripts, SizeIs(2));
  EXPECT_EQ(scripts[0].attributes.at("id"), "assay-report");
  EXPECT_THAT(scripts[1].attributes, IsEmpty());
  EXPECT_EQ(scripts[1].content, "let a = 1;");
  const auto data = nlohmann::json::parse(scripts[0].content);
  EXPECT_EQ(data["filter"], std::string("node = ") + kHostile);
  EXPECT_EQ(data["campaign"]["name"], kHostile);
  EXPECT_EQ(data["results"]["rowCount"], 3);
}

TEST(ReportTest, VerdictsReadWithoutScript) {
  const std::string page = ReportPage(HostileData(), {});
  EXPECT_THAT(Elements(page, "script"), IsEmpty());
  EXPECT_THAT(PolicyOf(page)["script-src"], ElementsAre("'none'"));
  EXPECT_WORDING("views/report-page", page);
}

// The hash of "let a = 1;" is that of: printf 'let a = 1;' | openssl dgst -sha256 -binary | base64
TEST(ReportTest, PolicyNamesTheScriptByItsHash) {
  const std::string page = ReportPage(HostileData(), {"let a = 1;", "", "'sha256-plot'"});
  auto policy = PolicyOf(page);
  EXPECT_THAT(policy["script-src"],
              ElementsAre("'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='"));
  // The first hash is that of the empty style.
  EXPECT_THAT(
      policy["style-src"],
      ElementsAre("'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='", "'sha256-plot'"));
  EXPECT_THAT(policy["default-src"], ElementsAre("'none'"));
}

TEST(ReportTest, SizesMakeALine_OtherParametersAStrip) {
  ReportData data;
  AddTexts(data.results, "benchmark",
           {"all_reduce", "all_reduce", "all_reduce", "all_reduce", "gemm"});
  AddTexts(data.results, "metric",
           {"bus_bandwidth", "bus_bandwidth", "bus_bandwidth", "bus_bandwidth", "tflops"});
  AddNumbers(data.results, "median", {1, 2, 3, 4, 5});
  AddNumbers(data.results, "parameters.bytes", {1024, 2048, 4096, 8192, std::nan("")});
  std::vector<std::string> figures;
  for (const Element& section : Elements(ReportPage(data, {}), "section")) {
    auto attributes = section.attributes;
    if (!attributes.contains("data-figure")) continue;
    figures.push_back(attributes["data-benchmark"] + " as " + attributes["data-figure"] + " by " +
                      attributes["data-by"]);
  }
  EXPECT_THAT(figures,
              ElementsAre("all_reduce as bandwidth by gpu.model", "gemm as strip by node"));
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
  const std::vector<Element> cells = Elements(table.Html(), "td");
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells[0].content, "&lt;b&gt;");
  EXPECT_THAT(cells[0].attributes, IsEmpty());
  EXPECT_EQ(cells[1].attributes.at("data-value"), "1500");
  EXPECT_EQ(cells[1].attributes.at("class"), "number");
}

}  // namespace
}  // namespace assay::cli
