#include "cli/views/counters_view.h"

#include <utility>

#include "cli/views/format.h"
#include "cli/views/result_text.h"
#include "common/text.h"

namespace assay::cli {
namespace {

// "1.07 GB", "93.4%", or nothing.
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
  std::string text;
  for (const std::string& kernel : run.kernels()) text += (text.empty() ? "" : ", ") + kernel;
  return Sanitize(text);
}

// Cases with counters, each once; if there is but one case, that in any event.
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
