#include "cli/views/result_marks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "cli/views/table.h"
#include "common/text.h"
#include "roofline/spec_sheet.h"
#include "wire/interval.h"

namespace assay::cli {
namespace {

// The maximum number of notes below one table.
constexpr size_t kMostNotes = 20;

constexpr std::array<Mark, 23> kKnown = {{
    {"above_ceiling", 'E',
     "faster than its measured ceiling: that was disturbed, or caches helped"},
    {"below_model", 'K',
     "far slower than this machine's times of other sizes predict (alpha-beta model)"},
    {"busy_host", 'B', "others used more than a tenth of the CPUs' time"},
    {"disk_free", 'D', "little of the disk was free for results"},
    {"gpu_processes", 'P', "other processes were on the GPU before the job"},
    {"graph", 'G', "timed as replays of a CUDA graph, without the cost of launches"},
    {"hot_cache", 'H', "every iteration found its inputs in the cache"},
    {"imported", 'I', "another program measured it, and Assay read its output"},
    {"memory_free", 'F', "little of the host's memory was free before the job"},
    {"noisy", 'N', "the median is known to no better than 2.5%"},
    {"off_series", 'O',
     "over 2.5%, and over its own interval, away from the other listed results of its series"},
    {"pcie_generation", 'L', "PCIe ran below the GPU's highest generation"},
    {"pcie_width", 'W', "PCIe had fewer lanes than the GPU takes"},
    {"quick", 'Q', "effort: quick; measured for about 1 s, so its interval is wider"},
    {"recalled_spec", 'R', "the GPU's spec sheet was not checked against the vendor's"},
    {"row_remap", 'X', "a faulty row of the GPU's memory waits for a reset to be replaced"},
    {"shared_gpu", 'S', "other processes were on the GPU"},
    {"simulated", 'M', "no hardware was measured"},
    {"throttled", 'T', "heat, power or a fault held the clocks down"},
    {"throttled_before", 'C', "the clocks were held down before the job"},
    {"unsettled", 'U', "times or power had not settled when timing began"},
    {"unverified", 'V', "the program's output does not say that results were checked"},
    {"zeros", 'Z', "all inputs were zero, which takes less power than data"},
}};

const Mark* Find(const std::string& flag) {
  const auto* const found = std::find_if(kKnown.begin(), kKnown.end(),
                                         [&](const Mark& known) { return known.flag == flag; });
  return found == kKnown.end() ? nullptr : found;
}

// Returns true if a measurement is noisy, that is, the 95% confidence interval of its median is too
// wide (see kNoisy). If the median is 0, any interval wider than 0 is too wide. If there are too
// few samples for an interval, the measurement is noisy if its time limit stopped it.
bool IsNoisy(const v1::Measurement& measurement) {
  if (schema::HasInterval(measurement) && measurement.median() == 0) {
    return measurement.ci_high() > measurement.ci_low();
  }
  const std::optional<double> uncertainty = schema::Uncertainty(measurement);
  return uncertainty ? *uncertainty > kNoisy : measurement.method().stop_reason() == "time_budget";
}

}  // namespace

std::span<const Mark> AllMarks() { return kKnown; }

std::string SpecCertainty(const std::string& spec) {
  const GpuSpec* const sheet = SheetNamed(spec);
  return sheet == nullptr ? "" : sheet->certainty;
}

std::vector<std::string> DoubtsOf(const v1::CaseResult& run) {
  std::vector<std::string> doubts(run.conditions().flags().begin(), run.conditions().flags().end());
  if (!run.measurements().empty()) {
    const v1::Method& method = run.measurements(0).method();
    if (method.cache() == "hot") doubts.emplace_back("hot_cache");
    if (method.fill() == "zeros") doubts.emplace_back("zeros");
    if (method.effort() == "quick") doubts.emplace_back("quick");
    if (method.timer() == "graph") doubts.emplace_back("graph");
    if (IsNoisy(run.measurements(0))) doubts.emplace_back("noisy");
  }
  if (SpecCertainty(run.prediction().spec()) == "recalled") doubts.emplace_back("recalled_spec");
  if (!run.provenance().imported_from().empty()) doubts.emplace_back("imported");
  if (run.provenance().simulated()) doubts.emplace_back("simulated");
  return doubts;
}

std::string Marks::Letters(const std::vector<std::string>& flags) {
  std::string text;
  for (const std::string& flag : flags) text += Flag(Sanitize(flag));
  return text;
}

std::string Marks::Flag(const std::string& flag) {
  const auto [known, added] = flags_.try_emplace(flag, "");
  if (added) {
    const Mark* const meant = Find(flag);
    known->second = meant != nullptr ? std::string(1, meant->letter) : FreeLetter(flag);
  }
  return known->second;
}

// Returns an unused capital letter for a flag unknown to this program, preferably one from the
// flag's name. Never returns the letter of a known flag, so that known letters mean the same in
// every table.
std::string Marks::FreeLetter(const std::string& flag) {
  for (const char c : flag + "abcdefghijklmnopqrstuvwxyz") {
    if (c < 'a' || c > 'z') continue;
    const char letter = static_cast<char>(c - 'a' + 'A');
    const bool taken = std::any_of(kKnown.begin(), kKnown.end(),
                                   [&](const Mark& known) { return known.letter == letter; });
    if (!taken && used_.insert(letter).second) return std::string(1, letter);
  }
  return "?";
}

std::string Marks::Note(const std::string& text) {
  const auto known = std::find(notes_.begin(), notes_.end(), text);
  if (known != notes_.end()) return std::to_string(known - notes_.begin() + 1);
  if (notes_.size() >= kMostNotes) return "";
  notes_.push_back(text);
  return std::to_string(notes_.size());
}

std::string Marks::Legend(int width) const {
  std::string text;
  for (const auto& [flag, letter] : flags_) {
    const Mark* const known = Find(flag);
    std::string line = letter;
    line.append("  ").append(flag);
    if (known != nullptr) line.append(": ").append(known->meaning);
    text += Wrap(line, width, 3) + "\n";
  }
  for (size_t i = 0; i < notes_.size(); ++i) {
    text += Wrap("[" + std::to_string(i + 1) + "] " + notes_[i], width, 4) + "\n";
  }
  return text;
}

}  // namespace assay::cli
