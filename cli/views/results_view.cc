#include "cli/views/results_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/campaign_file/field_reader.h"
#include "cli/views/counters_view.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_marks.h"
#include "cli/views/result_text.h"
#include "cli/views/utf8.h"
#include "common/text.h"
#include "wire/interval.h"
#include "wire/reasons.h"

namespace assay::cli {
namespace {

// "All on node-a, H200 SXM, driver 580.95.05", if all are; else empty.
std::string CommonText(const std::vector<v1::StoredResult>& results) {
  const auto place = [](const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    std::vector<std::string> parts = {NodesText(run), GpuText(run.environment()),
                                      run.environment().driver_version()};
    if (!parts.back().empty()) parts.back() = "driver " + parts.back();
    parts.push_back(NcclText(run.environment()));
    std::erase(parts, "");
    return Sanitize(Join(parts));
  };
  if (results.size() < 2 || NodesText(results[0].case_result()).empty()) return "";
  const std::string first = place(results[0]);
  // Of many nodes the text names one.
  const auto nodes = [](const v1::StoredResult& result) -> const auto& {
    return result.case_result().provenance().node_names();
  };
  const bool same = std::all_of(results.begin(), results.end(), [&](const auto& result) {
    return place(result) == first && std::equal(nodes(result).begin(), nodes(result).end(),
                                                nodes(results[0]).begin(), nodes(results[0]).end());
  });
  return same ? "All on " + first : "";
}

// The parameters, then `nccl`: what was asked for stands in one column.
std::string SettingsText(const v1::CaseResult& run, const std::set<std::string>& varying,
                         const std::string& nccl) {
  const std::string parameters = ParametersText(run, varying);
  return parameters + (parameters.empty() || nccl.empty() ? "" : " ") + Sanitize(nccl);
}

std::string Numbered(const std::string& note) { return note.empty() ? "" : "[" + note + "]"; }

std::string SlowRankText(const v1::SlowRank& slow) {
  const Quantity wait = FormatQuantity(slow.others_wait_seconds(), "s");
  return Sanitize("rank " + std::to_string(slow.rank()) + " (GPU " +
                  std::to_string(slow.gpu_index()) + " of " + slow.node_name() +
                  ") comes last: the others wait " + wait.ToString() + " for it");
}

struct MeasurementCells {
  std::string metric;
  Cell median;
  std::string unit;
  std::string spread;
  // Goes behind the flags.
  std::string note;
};

MeasurementCells CellsOf(const v1::CaseResult& run, Marks& marks) {
  MeasurementCells cells;
  if (run.outcome() == v1::CASE_OUTCOME_OK && !run.measurements().empty()) {
    const v1::Measurement& measurement = run.measurements(0);
    const Quantity median = FormatQuantity(measurement.median(), measurement.unit());
    cells.metric = measurement.metric();
    cells.median = median.number;
    cells.unit = median.unit;
    if (const auto uncertainty = schema::Uncertainty(measurement)) {
      cells.spread = FormatPercent(*uncertainty, 1);
    }
    if (run.has_slow_rank()) cells.note = Numbered(marks.Note(SlowRankText(run.slow_rank())));
    return cells;
  }
  const bool unsupported = run.outcome() == v1::CASE_OUTCOME_UNSUPPORTED;
  cells.median = unsupported ? Cell("unsupported", Tone::kDim) : Cell("FAILED", Tone::kBad);
  const v1::Failure& failure = run.failure();
  std::string why = ReasonWord(failure.reason());
  if (!failure.message().empty()) why += (why.empty() ? "" : ": ") + failure.message();
  cells.note = Numbered(marks.Note(Sanitize(why.empty() ? "no reason given" : why)));
  return cells;
}

}  // namespace

std::string ResultsTable(const std::vector<v1::StoredResult>& results, const Style& style) {
  const std::string common = CommonText(results);
  const bool in_common = !common.empty();
  // Left out where every row would say the same.
  const auto unless_common = [&](std::string text) { return in_common ? "" : std::move(text); };
  Table table({{"TIME", Align::kLeft, 6},
               {"NODE"},
               {"GPU", Align::kLeft, 1},
               {"BENCHMARK"},
               {"PARAMETERS"},
               {"METRIC", Align::kLeft, 3},
               {"MEDIAN", Align::kRight},
               {"UNIT"},
               {"±%", Align::kRight, 4},
               {"OF SPEC", Align::kRight, 2},
               {"FIT ±%", Align::kRight, 4},
               {"REGIME", Align::kLeft, 4},
               {"DRIVER", Align::kLeft, 5},
               {"FLAGS"}});
  const auto varying = FindVarying(results);
  Marks marks;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    const auto varies = varying.find(run.benchmark());
    MeasurementCells cells = CellsOf(run, marks);
    const std::string flags = marks.Flags(run);
    const bool efficient = run.prediction().has_efficiency_spec();
    table.Add({FormatTime(run.start_time()), unless_common(NodesText(run)),
               unless_common(GpuText(run.environment())), run.benchmark(),
               SettingsText(run, varies == varying.end() ? std::set<std::string>() : varies->second,
                            unless_common(NcclText(run.environment()))),
               cells.metric, cells.median, cells.unit, cells.spread,
               efficient ? FormatFixed(100 * run.prediction().efficiency_spec(), 1) + "%" : "",
               run.prediction().has_link_model()
                   ? FormatPercent(run.prediction().link_model().error(), 1)
                   : "",
               run.prediction().regime(), unless_common(run.environment().driver_version()),
               Cell(flags + (flags.empty() || cells.note.empty() ? "" : " ") + cells.note,
                    cells.note.empty() ? Tone::kDoubtful : Tone::kBad)});
  }
  const std::string counters = CountersTable(results, varying, style, marks);
  return (in_common ? Wrap(common, style.width, 2) + "\n" : "") + table.Render(style) + counters +
         marks.Legend(style.width);
}

}  // namespace assay::cli
