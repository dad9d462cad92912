#include "cli/results_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "cli/field_reader.h"
#include "cli/format.h"
#include "cli/utf8.h"
#include "common/units.h"

namespace assay::cli {
namespace {

// Most distinct failures explained below a table.
constexpr size_t kMostNotes = 20;

using ParameterMap = google::protobuf::Map<std::string, std::string>;

// Parameters that say what was measured, in the order that people name them.
constexpr std::array<std::string_view, 7> kImportant = {"m",     "n",     "k", "bytes",
                                                        "ranks", "dtype", "op"};

// For each benchmark, the parameters with more than one value.
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::StoredResult>& results) {
  std::map<std::string, std::map<std::string, std::string>> first;
  std::map<std::string, std::set<std::string>> varying;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    for (const auto& [name, value] : run.parameters()) {
      const auto [known, added] = first[run.benchmark()].try_emplace(name, value);
      if (!added && known->second != value) varying[run.benchmark()].insert(name);
    }
  }
  return varying;
}

std::string ValueText(const std::string& name, const std::string& value) {
  const bool is_bytes = name == "bytes" || name.ends_with("_bytes");
  const Result<int64_t> number = is_bytes ? ParseInteger(value) : InvalidArgument("");
  return number.ok() ? FormatBytes(*number) : value;
}

// "m=n=k=4096": shapes are so often square.
std::string ShapeText(const ParameterMap& parameters) {
  std::vector<std::pair<std::string, std::string>> groups;  // Names, value.
  for (const char* name : {"m", "n", "k"}) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) continue;
    if (!groups.empty() && groups.back().second == found->second) {
      groups.back().first += std::string("=") + name;
    } else {
      groups.emplace_back(name, found->second);
    }
  }
  std::string text;
  for (const auto& [names, value] : groups) text += (text.empty() ? "" : " ") + names + "=" + value;
  return text;
}

// What varies comes first, so that a narrow terminal does not cut it off.
std::string ParametersText(const v1::CaseResult& run, const std::set<std::string>& varying) {
  std::string text = ShapeText(run.parameters());
  std::set<std::string> shown = {"m", "n", "k"};
  const auto add = [&](const std::string& name) {
    const auto found = run.parameters().find(name);
    if (found == run.parameters().end() || !shown.insert(name).second) return;
    // Their values say what they are.
    const bool bare = name == "dtype" || name == "op" || name == "bytes";
    text += (text.empty() ? "" : " ") + (bare ? "" : name + "=") + ValueText(name, found->second);
  };
  for (const std::string_view name : kImportant) {
    if (varying.count(std::string(name)) > 0) add(std::string(name));
  }
  for (const std::string& name : varying) add(name);
  for (const std::string_view name : kImportant) add(std::string(name));
  return text;
}

std::string NodesText(const v1::CaseResult& run) {
  const auto& names = run.provenance().node_names();
  if (names.empty()) return "";
  return names.size() == 1 ? names.Get(0) : names.Get(0) + " +" + std::to_string(names.size() - 1);
}

std::string GpuText(const v1::Environment& environment) {
  if (environment.gpu_model().empty()) return "";
  std::string text =
      environment.gpu_count() > 1 ? std::to_string(environment.gpu_count()) + "x " : "";
  text += environment.gpu_model();
  if (!environment.gpu_form_factor().empty()) text += " " + environment.gpu_form_factor();
  if (!environment.mig_profile().empty()) text += " " + environment.mig_profile();
  return text;
}

// "All on node-a, H200 SXM, driver 580.95.05", if all are; else empty.
std::string CommonText(const std::vector<v1::StoredResult>& results) {
  const auto place = [](const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    std::vector<std::string> parts = {NodesText(run), GpuText(run.environment()),
                                      run.environment().driver_version()};
    if (!parts.back().empty()) parts.back() = "driver " + parts.back();
    std::erase(parts, "");
    return Sanitize(Join(parts));
  };
  if (results.size() < 2 || NodesText(results[0].case_result()).empty()) return "";
  const std::string first = place(results[0]);
  const bool same = std::all_of(results.begin(), results.end(),
                                [&](const auto& result) { return place(result) == first; });
  return same ? "All on " + first : "";
}

// Short marks for flags and failures, and the legend that explains them.
class Marks {
 public:
  std::string Flag(const std::string& flag) {
    const auto [known, added] = flags_.try_emplace(flag, "");
    if (added) known->second = FreeLetter(flag);
    return known->second;
  }

  // "1", "2", ... ; the same text gets the same number. Empty when there are too
  // many to explain.
  std::string Note(const std::string& text) {
    const auto known = std::find(notes_.begin(), notes_.end(), text);
    if (known != notes_.end()) return std::to_string(known - notes_.begin() + 1);
    if (notes_.size() >= kMostNotes) return "";
    notes_.push_back(text);
    return std::to_string(notes_.size());
  }

  std::string Legend(int width) const {
    std::string text;
    for (const auto& [flag, letter] : flags_)
      text += (text.empty() ? "" : "   ") + letter + " " + flag;
    if (!text.empty()) text = Wrap("flags: " + text, width, 7) + "\n";
    for (size_t i = 0; i < notes_.size(); ++i) {
      text += Wrap("[" + std::to_string(i + 1) + "] " + notes_[i], width, 4) + "\n";
    }
    return text;
  }

 private:
  // A capital from the flag's own name if one is free, else any.
  std::string FreeLetter(const std::string& flag) {
    for (const char c : flag + "abcdefghijklmnopqrstuvwxyz") {
      if (c < 'a' || c > 'z') continue;
      const char letter = static_cast<char>(c - 'a' + 'A');
      if (used_.insert(letter).second) return std::string(1, letter);
    }
    return "?";
  }

  std::map<std::string, std::string> flags_;
  std::set<char> used_;
  std::vector<std::string> notes_;
};

std::string FlagsText(const v1::CaseResult& run, Marks& marks) {
  std::string text;
  for (const std::string& flag : run.conditions().flags()) text += marks.Flag(Sanitize(flag));
  if (run.provenance().simulated()) text += marks.Flag("simulated");
  return text;
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
    cells.spread = FormatPercent(measurement.mad(), measurement.median());
    return cells;
  }
  const bool unsupported = run.outcome() == v1::CASE_OUTCOME_UNSUPPORTED;
  cells.median = unsupported ? Cell("unsupported", Tone::kDim) : Cell("FAILED", Tone::kBad);
  const v1::Failure& failure = run.failure();
  std::string why = failure.reason();
  if (!failure.message().empty()) why += (why.empty() ? "" : ": ") + failure.message();
  if (const std::string number = marks.Note(Sanitize(why.empty() ? "no reason given" : why));
      !number.empty()) {
    cells.note = "[" + number + "]";
  }
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
               {"DRIVER", Align::kLeft, 5},
               {"FLAGS"}});
  const auto varying = FindVarying(results);
  Marks marks;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    const auto varies = varying.find(run.benchmark());
    MeasurementCells cells = CellsOf(run, marks);
    const std::string flags = FlagsText(run, marks);
    const bool efficient = run.prediction().has_efficiency_spec();
    table.Add(
        {FormatTime(run.start_time()), unless_common(NodesText(run)),
         unless_common(GpuText(run.environment())), run.benchmark(),
         ParametersText(run, varies == varying.end() ? std::set<std::string>() : varies->second),
         cells.metric, cells.median, cells.unit, cells.spread,
         efficient ? FormatFixed(100 * run.prediction().efficiency_spec(), 1) + "%" : "",
         unless_common(run.environment().driver_version()),
         Cell(flags + (flags.empty() || cells.note.empty() ? "" : " ") + cells.note,
              cells.note.empty() ? Tone::kDoubtful : Tone::kBad)});
  }
  return (in_common ? Wrap(common, style.width, 2) + "\n" : "") + table.Render(style) +
         marks.Legend(style.width);
}

}  // namespace assay::cli
