#include "cli/views/results_view.h"

#include <algorithm>
#include <utility>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_text.h"
#include "cli/views/series_check.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "wire/interval.h"

namespace assay::cli {
namespace {

// Returns "All on node-a, H200 SXM, driver 580.95.05" if that holds for all results.
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
  // NodesText names only one of many nodes, so all names are compared.
  const auto nodes = [](const v1::StoredResult& result) -> const auto& {
    return result.case_result().provenance().node_names();
  };
  const bool same = std::all_of(results.begin(), results.end(), [&](const auto& result) {
    return place(result) == first && std::equal(nodes(result).begin(), nodes(result).end(),
                                                nodes(results[0]).begin(), nodes(results[0]).end());
  });
  return same ? "All on " + first : "";
}

// Returns the text of one column for everything that was requested: parameters, then `nccl`.
std::string SettingsText(const v1::CaseResult& run, const std::set<std::string>& varying,
                         const std::string& nccl) {
  const std::string parameters = ParametersText(run, varying);
  return parameters + (parameters.empty() || nccl.empty() ? "" : " ") + Sanitize(nccl);
}

// Returns "[1]" for the number of a note; empty if it has none.
std::string Numbered(const std::string& note) { return note.empty() ? "" : "[" + note + "]"; }

std::string SlowRankText(const v1::SlowRank& slow) {
  const Quantity wait = FormatQuantity(slow.others_wait_seconds(), "s");
  return Sanitize("rank " + std::to_string(slow.rank()) + " (GPU " +
                  std::to_string(slow.gpu_index()) + " of " + slow.node_name() +
                  ") is the slowest: the others wait " + wait.ToString() + " for it");
}

struct MeasurementCells {
  std::string metric;
  Cell median;
  std::string unit;
  std::string spread;
  // Shown after the flags.
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
  cells.note = Numbered(marks.Note(FailureText(run.failure())));
  return cells;
}

Cell AmountCell(bool present, double bytes) {
  if (!present) return "";
  const Quantity quantity = FormatQuantity(bytes, "B");
  return quantity.number + " " + quantity.unit;
}

Cell ShareCell(bool present, double share) {
  return present ? Cell(FormatFixed(100 * share, 1) + "%") : Cell("");
}

std::string KernelsText(const v1::CaseResult& run, Marks& marks) {
  if (!run.kernels_reason().empty()) {
    const std::string note = marks.Note(Sanitize(run.kernels_reason()));
    return note.empty() ? "unknown" : "unknown [" + note + "]";
  }
  return Sanitize(Join(run.kernels()));
}

// Returns the cases with counters without duplicates; a single case needs no counters.
std::vector<const v1::CaseResult*> ProfiledCases(const std::vector<v1::StoredResult>& results) {
  std::set<std::pair<std::string, int>> seen;
  std::vector<const v1::CaseResult*> all;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    if (seen.emplace(run.job_id(), run.case_index()).second) all.push_back(&run);
  }
  const bool one =
      all.size() == 1 && (!all[0]->kernels().empty() || !all[0]->kernels_reason().empty());
  if (!one) std::erase_if(all, [](const auto* run) { return !run->has_counters(); });
  return all;
}

}  // namespace

std::string ResultsTable(const std::vector<v1::StoredResult>& results, const Style& style) {
  const std::string common = CommonText(results);
  const bool in_common = !common.empty();
  // Columns that are equal in all rows are left out.
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
  const SeriesMedians series(results);
  Marks marks;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    const auto varies = varying.find(run.benchmark());
    MeasurementCells cells = CellsOf(run, marks);
    const std::string flags =
        marks.Flags(run) + (series.IsOff(result) ? marks.Letters({"off_series"}) : "");
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

std::string CountersTable(const std::vector<v1::StoredResult>& results,
                          const std::map<std::string, std::set<std::string>>& varying,
                          const Style& style, Marks& marks) {
  const std::vector<const v1::CaseResult*> cases = ProfiledCases(results);
  if (cases.empty()) return "";
  Table table({{"BENCHMARK"},
               {"PARAMETERS"},
               {"COUNTERS BY"},
               {"DRAM READ", Align::kRight},
               {"WRITTEN", Align::kRight},
               {"DRAM", Align::kRight, 3},
               {"SM", Align::kRight, 3},
               {"TENSOR", Align::kRight, 2},
               {"L2 HIT", Align::kRight, 4},
               {"KERNELS", Align::kLeft, 1}});
  for (const v1::CaseResult* run : cases) {
    const v1::Counters& c = run->counters();
    const auto varies = varying.find(run->benchmark());
    std::string source = Sanitize(c.source());
    if (!c.reason().empty()) {
      const std::string note = marks.Note(Sanitize(c.reason()));
      if (!note.empty()) source += " [" + note + "]";
    }
    table.Add(
        {run->benchmark(),
         ParametersText(*run, varies == varying.end() ? std::set<std::string>() : varies->second),
         source, AmountCell(c.has_dram_read_bytes(), c.dram_read_bytes()),
         AmountCell(c.has_dram_write_bytes(), c.dram_write_bytes()),
         ShareCell(c.has_dram_throughput(), c.dram_throughput()),
         ShareCell(c.has_sm_throughput(), c.sm_throughput()),
         ShareCell(c.has_tensor_pipe_active(), c.tensor_pipe_active()),
         ShareCell(c.has_l2_hit_rate(), c.l2_hit_rate()), KernelsText(*run, marks)});
  }
  return "\n" + table.Render(style);
}

}  // namespace assay::cli
