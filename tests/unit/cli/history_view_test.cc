#include "cli/views/history_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/cli/analysis_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

constexpr int kRows = 10;

class HistoryView : public testing::Test {
 protected:
  void SetUp() override { UseUtc(); }
};

TEST_F(HistoryView, OnePlace_InAsciiAndUnicode) {
  const std::string ascii = HistoryText(CopyHistory(1), {80, kRows, false}, {80, false});
  EXPECT_WORDING("views/history-ascii", ascii);
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c > 0; }));
  EXPECT_LE(WidestLine(ascii), 80);
  const std::string unicode = HistoryText(CopyHistory(1), {80, kRows, true}, {80, false});
  EXPECT_WORDING("views/history-unicode", unicode);
  EXPECT_LE(WidestLine(unicode), 80);
}

TEST_F(HistoryView, SeveralPlaces_HaveABand) {
  EXPECT_WORDING("views/history-places",
                 HistoryText(CopyHistory(8), {80, kRows, true}, {80, false}));
  const std::string wide = HistoryText(CopyHistory(8), {200, kRows, true}, {200, false});
  EXPECT_WORDING("views/history-200-columns", wide);
  EXPECT_LE(WidestLine(wide), 200);
}

TEST_F(HistoryView, FewOrEqualRuns_ArePlotted) {
  v1::GetHistoryResponse history = CopyHistory(1);
  v1::PlaceHistory& place = *history.mutable_places(0);
  place.clear_steps();
  history.clear_annotations();
  place.mutable_points()->DeleteSubrange(2, place.points_size() - 2);
  place.mutable_points(1)->set_median(place.points(0).median());
  history.set_remaining_count(3);
  history.set_failed_count(2);
  EXPECT_WORDING("views/history-two-runs", HistoryText(history, {40, kRows, false}, {40, false}));
  place.mutable_points()->DeleteSubrange(1, 1);
  EXPECT_NE(HistoryText(history, {80, kRows, true}, {}).find("\u2524"), std::string::npos);
  place.mutable_points(0)->set_excluded(true);
  EXPECT_EQ(HistoryText(history, {80, kRows, true}, {}).find("\u2524"), std::string::npos);
}

TEST_F(HistoryView, DriverChangeWithoutAStep_IsMarked) {
  v1::GetHistoryResponse history = CopyHistory(8);
  history.mutable_places(3)->clear_steps();
  const std::string text = HistoryText(history, {80, kRows, true}, {80, false});
  EXPECT_NE(text.find("  D  2026-11-26 04:00  driver 580.95.05 -> 590.10 on 8 places\n"),
            std::string::npos)
      << text;
}

TEST_F(HistoryView, HostileTexts_ArePrintable) {
  v1::GetHistoryResponse history = CopyHistory(2);
  history.mutable_annotations(0)->set_text(kHostile);
  for (v1::PlaceHistory& place : *history.mutable_places()) {
    place.mutable_case_()->set_unit(kHostile);
    place.mutable_points(30)->set_driver_version(kHostile);
    place.mutable_points(31)->set_median(0.0 / 0.0);
    place.mutable_points(32)->set_median(-1.7e308);
    place.mutable_points(33)->set_median(1.7e308);
    place.mutable_points(34)->mutable_end_time()->set_seconds(INT64_MAX);
  }
  const std::string text = HistoryText(history, {80, kRows, true}, {80, false});
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(HistoryCsv(history).find('\x1b'), std::string::npos);
}

TEST_F(HistoryView, Csv_HasEveryRun) {
  const std::string csv = HistoryCsv(CopyHistory(2));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 81);
  EXPECT_WORDING("views/history-csv", csv.substr(0, csv.find("\r\n", csv.find("\r\n") + 2)));
}

}  // namespace
}  // namespace assay::cli
