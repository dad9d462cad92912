// Tests the plots of `assay plot`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/views/bandwidth_plot.h"
#include "cli/views/roofline_plot.h"
#include "cli/views/xy_plot.h"
#include "common/text.h"
#include "tests/unit/cli/plot_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr PlotStyle kAscii{80, 18, false};
constexpr PlotStyle kNarrow{80, 18, true};
constexpr PlotStyle kWide{200, 24, true};

int WidestLine(const std::string& text) {
  int widest = 0;
  for (const std::string_view line : Split(text, '\n')) {
    widest = std::max(widest, DisplayWidth(line));
  }
  return widest;
}

TEST(RooflinePlot, FitsTheTerminal) {
  const v1::GetRooflineResponse answer = RooflineAnswer();
  EXPECT_WORDING("views/roofline-ascii", RooflinePlot(answer, kAscii));
  EXPECT_WORDING("views/roofline-80-columns", RooflinePlot(answer, kNarrow));
  EXPECT_WORDING("views/roofline-200-columns", RooflinePlot(answer, kWide));
  EXPECT_WORDING("views/roofline-table", RooflineTable(answer, {80, false}));
  EXPECT_LE(WidestLine(RooflinePlot(answer, kNarrow)), 80);
  EXPECT_LE(WidestLine(RooflinePlot(answer, kWide)), 200);
  EXPECT_EQ(RooflinePlot({}, kNarrow), "");
}

TEST(RooflinePlot, SurvivesOddValuesAndNames) {
  v1::GetRooflineResponse answer;
  v1::Roofline& roofline = *answer.add_rooflines();
  for (const double odd : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e300, 5e-324}) {
    AddPoint(roofline, "\x1b[31mred", odd, odd, "\x1b[31mred");
    AddRoof(roofline, "\x1b[31mred", odd > 0, "sheet", odd);
  }
  const std::string text = RooflinePlot(answer, kAscii);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LE(WidestLine(text), 80);
}

TEST(RooflinePlot, CsvHasRoofsAndPoints) {
  const std::string csv = RooflineCsv(RooflineAnswer());
  const auto records = Split(csv, '\n');
  EXPECT_THAT(records, SizeIs(1 + 5 + 6 + 1));
  EXPECT_THAT(records, Contains("roof,H200,SXM,HBM,sheet,B/s,4.8e+12,,,,,,,,,,,\r"));
}

TEST(BandwidthPlot, FitsTheTerminal) {
  BandwidthAnswer answer;
  answer.AddSweep("580.95.05", 4e11);
  answer.AddSweep("590.10", 3.5e11);
  const Bandwidths found = BandwidthsOf(answer.table());
  EXPECT_WORDING("views/bandwidth-ascii", BandwidthPlot(found, kAscii));
  EXPECT_WORDING("views/bandwidth-80-columns", BandwidthPlot(found, kNarrow));
  EXPECT_WORDING("views/bandwidth-200-columns", BandwidthPlot(found, kWide));
  EXPECT_WORDING("views/bandwidth-table", BandwidthTable(found, {80, false}));
  EXPECT_LE(WidestLine(BandwidthPlot(found, kNarrow)), 80);
}

TEST(BandwidthPlot, SortsResultsIntoSeries) {
  BandwidthAnswer answer;
  answer.AddSweep("580.95.05", 4e11);
  answer.AddSweep("590.10", 3.5e11);
  answer.Add("all_gather", "bus_bandwidth", "bytes=8", 1, "590.10", std::nan(""));
  answer.Add("all_reduce", "bus_bandwidth", "dtype=bf16", 1, "590.10", 0);  // Without a size.
  const Bandwidths found = BandwidthsOf(answer.table());
  EXPECT_EQ(found.benchmark, "all_reduce");
  EXPECT_EQ(found.metric, "bus_bandwidth");
  EXPECT_EQ(found.other_benchmarks.at("all_gather"), 1);
  ASSERT_THAT(found.series, SizeIs(2));
  EXPECT_EQ(found.series[0].name, "8x H200 SXM, driver 580.95.05") << "the fastest first";
  ASSERT_THAT(found.series[0].points, SizeIs(11));
  EXPECT_EQ(found.series[0].points[0].bytes, 1024);
  EXPECT_EQ(found.series[0].points[0].results, 2);
  EXPECT_DOUBLE_EQ(*found.series[0].knee_bytes, 4e6);
  const auto json = nlohmann::json::parse(BandwidthJson(found));
  EXPECT_EQ(json["series"].size(), 2U);
  EXPECT_THAT(Split(BandwidthCsv(found), '\n'), SizeIs(1 + 22 + 1));
}

TEST(BandwidthPlot, OtherParametersMakeSeriesOfTheirOwn) {
  BandwidthAnswer answer;
  for (const char* type : {"bf16", "fp32"}) {
    answer.Add("all_reduce", "bandwidth", std::string("bytes=8;dtype=") + type, 1, "590", 0);
  }
  const Bandwidths found = BandwidthsOf(answer.table());
  ASSERT_THAT(found.series, SizeIs(2));
  EXPECT_EQ(found.series[0].name, "8x H200 SXM, driver 590, dtype=bf16");
  EXPECT_FALSE(found.series[0].knee_bytes);
  EXPECT_FALSE(BandwidthPlot(found, kNarrow).empty()) << "of one size";
  EXPECT_EQ(BandwidthPlot(BandwidthsOf({}), kNarrow), "");
}

TEST(XyPlot, ShortQuantityHasThreeDigitsAtMost) {
  std::vector<std::string> texts;
  for (const double value : {4.8e12, 1e12, 989e12, 0.25, 1.0}) {
    texts.push_back(ShortQuantity(value, "B/s"));
  }
  EXPECT_THAT(texts, ElementsAre("4.8 TB/s", "1 TB/s", "989 TB/s", "0.25 B/s", "1 B/s"));
}

}  // namespace
}  // namespace assay::cli
