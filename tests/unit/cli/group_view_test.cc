#include "cli/views/group_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/wording.h"

namespace assay::cli {
namespace {

v1::ResultGroup Group(const std::string& driver, const std::string& m, double median) {
  v1::ResultGroup group;
  group.add_values(driver);
  group.set_result_count(12);
  group.set_node_count(3);
  group.set_gpu_count(12);
  v1::CaseResult& run = *group.mutable_best()->mutable_case_result();
  run.set_benchmark("gemm");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  for (const char* name : {"m", "n", "k"}) (*run.mutable_parameters())[name] = m;
  run.mutable_provenance()->add_node_names("g3");
  run.mutable_environment()->set_gpu_model("H200");
  run.mutable_environment()->set_gpu_form_factor("SXM");
  run.mutable_environment()->set_driver_version(driver);
  v1::Measurement& measurement = *run.add_measurements();
  measurement.set_metric("tflops");
  measurement.set_unit("TFLOP/s");
  measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measurement.set_median(median + 5);
  group.set_median(median);
  group.set_low(median - 5);
  group.set_high(median + 5);
  return group;
}

v1::ResultGroup Failed(const std::string& driver, const std::string& m) {
  v1::ResultGroup group = Group(driver, m, 0);
  group.clear_median();
  group.set_failed_count(group.result_count());
  return group;
}

size_t MostBytesOfALine(const std::string& text) {
  size_t widest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  return widest;
}

GroupedResults Drivers() {
  GroupedResults grouped{
      {"driver"},
      {Group("550.54", "4096", 328), Group("580.95", "4096", 362), Failed("590.10", "4096")}};
  SortBestFirst(grouped.groups);
  return grouped;
}

TEST(GroupView, OneCase_IsNamedOnceAndTheBestIsFirst) {
  const std::string text = GroupsTable(Drivers(), {80, false});
  EXPECT_WORDING("views/groups-one-case", text);
  EXPECT_LE(MostBytesOfALine(text), 80U);
}

TEST(GroupView, SeveralCases_HaveTheirOwnBest) {
  GroupedResults grouped = Drivers();
  grouped.groups.push_back(Group("550.54", "8192", 600));
  SortBestFirst(grouped.groups);
  EXPECT_WORDING("views/groups-two-cases", GroupsTable(grouped, {200, false}));
  EXPECT_LE(MostBytesOfALine(GroupsTable(grouped, {80, false})), 80U);
}

TEST(GroupView, LowerIsBetter_SortsAscending) {
  std::vector<v1::ResultGroup> groups = {Group("550.54", "1", 2), Group("580.95", "1", 1)};
  for (v1::ResultGroup& group : groups) {
    group.mutable_best()->mutable_case_result()->mutable_measurements(0)->set_direction(
        v1::DIRECTION_LOWER_IS_BETTER);
  }
  SortBestFirst(groups);
  EXPECT_EQ(groups[0].median(), 1);
}

TEST(GroupView, BestPerHardware_NamesTheNode) {
  GroupedResults grouped = Drivers();
  const std::string text = BestTable(grouped, {80, false});
  EXPECT_WORDING("views/groups-best", text);
  EXPECT_LE(MostBytesOfALine(text), 80U);
  EXPECT_EQ(BestTable({{}, {}}, {80, false}), "");
}

TEST(GroupView, CsvAndJson_HaveTheGroupsValues) {
  const std::string csv = GroupsCsv(Drivers());
  EXPECT_NE(
      csv.find("gemm,k=4096;m=4096;n=4096,tflops,TFLOP/s,,,580.95,362,357,367,12,0,3,12,367,g3"),
      std::string::npos)
      << csv;
  const auto json = nlohmann::json::parse(GroupsJson(Drivers()));
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(json[0]["group"]["driver"], "580.95");
  EXPECT_EQ(json[0]["best"]["benchmark"], "gemm");
  EXPECT_FALSE(json[2].contains("median"));
  EXPECT_EQ(json[2]["failed"], 12);
}

}  // namespace
}  // namespace assay::cli
