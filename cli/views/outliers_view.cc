#include "cli/views/outliers_view.h"

#include <utility>
#include <vector>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"
#include "wire/field.h"

namespace assay::cli {
namespace {

std::string KindWord(v1::OutlierKind kind) {
  return schema::EnumWord(*v1::OutlierKind_descriptor(), kind);
}

Cell KindCell(v1::OutlierKind kind) {
  return {KindWord(kind), kind == v1::OUTLIER_KIND_SLOW ? Tone::kBad : Tone::kDoubtful};
}

// Returns the position from the fastest: "64 of 64" for the slowest.
std::string RankText(const v1::OutlierCase& one) {
  if (one.rank() < 1 || one.rank() > one.place_count()) return "";
  return std::to_string(one.place_count() - one.rank() + 1) + " of " +
         std::to_string(one.place_count());
}

CaseNames NamesOf(const v1::ListOutliersResponse& found) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::Outlier& outlier : found.outliers()) {
    for (const v1::OutlierCase& one : outlier.cases()) cases.push_back(one.case_());
  }
  return CaseNames(cases);
}

std::string CauseText(const v1::OutlierCase& one) {
  return one.power_limited() ? "power-limited" : "";
}

Table PlaceTable(const v1::ListOutliersResponse& found, const CaseNames& names) {
  Table table({{"GPU"},
               {"CASES"},
               {"WORST CASE"},
               {"VS PEERS", Align::kRight},
               {"RANK", Align::kLeft, 1},
               {"KIND"},
               {"HINT", Align::kLeft, 2}});
  for (const v1::Outlier& outlier : found.outliers()) {
    const v1::OutlierCase& worst =
        outlier.cases().empty() ? v1::OutlierCase::default_instance() : outlier.cases(0);
    table.Add(
        {PlaceText(outlier.place()),
         std::to_string(outlier.cases_size()) + " of " + std::to_string(outlier.judged_count()),
         names.Short(worst.case_()), ChangeText(worst.ratio()), RankText(worst),
         KindCell(outlier.kind()), CauseText(worst)});
  }
  return table;
}

Table CaseTable(const v1::Outlier& outlier, const CaseNames& names) {
  Table table({{"CASE"},
               {"VS PEERS", Align::kRight},
               {"MEDIAN", Align::kRight, 1},
               {"PEERS", Align::kRight, 1},
               {"UNIT", Align::kLeft, 1},
               {"RANK", Align::kLeft, 2},
               {"KIND"},
               {"HINT", Align::kLeft, 3},
               {"TIME", Align::kLeft, 4}});
  for (const v1::OutlierCase& one : outlier.cases()) {
    const std::string& unit = one.case_().unit();
    const Quantity median = FormatQuantity(one.median(), unit);
    const Quantity peers = FormatQuantity(one.peers_median(), unit);
    table.Add({names.Short(one.case_()), ChangeText(one.ratio()), median.number,
               peers.unit == median.unit ? peers.number : peers.ToString(), median.unit,
               RankText(one), KindCell(one.kind()), CauseText(one), MinuteText(one.end_time())});
  }
  return table;
}

std::string JudgedText(const v1::ListOutliersResponse& found) {
  std::string text = Counted(found.judged_places(), "place was", "places were") +
                     " compared with peers (the same hardware and driver)";
  if (found.unjudged_places() > 0) {
    text += "; " + Counted(found.unjudged_places(), "has", "have") + " too few";
  }
  const std::string until = MinuteText(found.judged_until());
  return text + (until.empty() ? "." : "; results up to " + until + ".");
}

}  // namespace

std::string OutliersText(const v1::ListOutliersResponse& found, bool each_case,
                         const Style& style) {
  const CaseNames names = NamesOf(found);
  std::string text;
  if (!found.outliers().empty()) text = PlaceTable(found, names).Render(style);
  for (const v1::Outlier& outlier : found.outliers()) {
    if (!each_case) break;
    text += "\n" + PlaceText(outlier.place()) + "\n" + CaseTable(outlier, names).Render(style);
  }
  if (each_case && !text.empty()) text += "\n";
  return text + Wrap(JudgedText(found), style.width, 2) + "\n";
}

std::string OutliersCsv(const v1::ListOutliersResponse& found) {
  std::vector<std::string> columns = PlaceColumns();
  const std::vector<std::string> case_columns = CaseColumns();
  columns.insert(columns.end(), case_columns.begin(), case_columns.end());
  std::string csv = CsvRecordAfter(
      columns, {"driver_version", "kind", "z", "ratio", "rank", "place_count", "median",
                "peers_median", "power_limited", "judged_count", "end_time", "result_id"});
  for (const v1::Outlier& outlier : found.outliers()) {
    for (const v1::OutlierCase& one : outlier.cases()) {
      std::vector<std::string> cells = PlaceValues(outlier.place());
      const std::vector<std::string> case_cells = CaseValues(one.case_());
      cells.insert(cells.end(), case_cells.begin(), case_cells.end());
      csv += CsvRecordAfter(
          cells,
          {one.driver_version(), KindWord(one.kind()), FormatExact(one.z()),
           FormatExact(one.ratio()), std::to_string(one.rank()), std::to_string(one.place_count()),
           FormatExact(one.median()), FormatExact(one.peers_median()),
           one.power_limited() ? "true" : "false", std::to_string(outlier.judged_count()),
           FormatTimeExact(one.end_time()), one.result_id()});
    }
  }
  return csv;
}

}  // namespace assay::cli
