#include "cli/views/baseline_view.h"

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"

namespace assay::cli {

std::string BaselinesTable(const std::vector<v1::Baseline>& baselines, const Style& style) {
  Table table({{"NAME"},
               {"CASES", Align::kRight},
               {"RUNS", Align::kRight},
               {"CREATED", Align::kLeft, 2},
               {"BY", Align::kLeft, 3},
               {"FILTER", Align::kLeft, 1}});
  for (const v1::Baseline& one : baselines) {
    table.Add({one.name(), std::to_string(one.case_count()), std::to_string(one.run_count()),
               MinuteText(one.create_time()), one.created_by(), one.filter()});
  }
  return table.Render(style);
}

std::string BaselinesCsv(const std::vector<v1::Baseline>& baselines) {
  std::string csv =
      CsvRecord({"name", "filter", "create_time", "created_by", "case_count", "run_count"});
  for (const v1::Baseline& one : baselines) {
    csv +=
        CsvRecord({one.name(), one.filter(), FormatTimeExact(one.create_time()), one.created_by(),
                   std::to_string(one.case_count()), std::to_string(one.run_count())});
  }
  return csv;
}

std::string BaselineText(const v1::Baseline& baseline, const Style& style) {
  std::string headline = "Baseline " + Sanitize(baseline.name()) + ": " +
                         Counted(baseline.case_count(), "case") + " from " +
                         Counted(baseline.run_count(), "run");
  if (baseline.has_create_time()) headline += ", set " + MinuteText(baseline.create_time());
  if (!baseline.created_by().empty()) headline += " by " + Sanitize(baseline.created_by());
  std::string text = Wrap(headline, style.width, 2) + "\n";
  constexpr int kIndent = 10;
  text +=
      Wrap("  Filter: " + Sanitize(baseline.filter().empty() ? "all results" : baseline.filter()),
           style.width, kIndent) +
      "\n";
  if (baseline.cases().empty()) return text;
  std::vector<v1::CaseIdentity> cases;
  for (const v1::BaselineCase& one : baseline.cases()) cases.push_back(one.case_());
  const CaseNames names(cases);
  const std::string noun = PlaceNoun(cases);
  Table table({{"CASE"},
               {"MEDIAN", Align::kRight},
               {"UNIT"},
               {"RUNS", Align::kRight, 1},
               {noun == "GPU"    ? "GPUS"
                : noun == "node" ? "NODES"
                                 : "PLACES",
                Align::kRight, 1}});
  for (const v1::BaselineCase& one : baseline.cases()) {
    const Quantity median = FormatQuantity(one.median(), one.case_().unit());
    table.Add({names.Short(one.case_()), median.number, median.unit, std::to_string(one.runs()),
               std::to_string(one.places())});
  }
  return text + table.Render(style);
}

std::string BaselineCsv(const v1::Baseline& baseline) {
  std::string csv = CsvRecordAfter(CaseColumns(), {"median", "runs", "places"});
  for (const v1::BaselineCase& one : baseline.cases()) {
    csv += CsvRecordAfter(
        CaseValues(one.case_()),
        {FormatExact(one.median()), std::to_string(one.runs()), std::to_string(one.places())});
  }
  return csv;
}

}  // namespace assay::cli
