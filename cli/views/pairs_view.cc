#include "cli/views/pairs_view.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/pair_report_text.h"
#include "analysis/statistics.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_marks.h"
#include "common/text.h"

namespace assay::cli {
namespace {

using analysis::BadLink;
using analysis::BadNode;
using analysis::NodeSide;
using analysis::PairCase;
using analysis::PairCell;
using analysis::PairFailure;
using analysis::PairFinding;
using analysis::PairReport;
using analysis::PairVerdict;
using analysis::Verdict;
using Json = nlohmann::ordered_json;

constexpr char kBadMark[] = "!";
constexpr char kUncertainMark[] = "?";

// Returns the flags that every value has. The heading shows them once.
std::set<std::string> CommonFlags(const PairCase& one) {
  if (one.cells.size() < 2) return {};
  std::set<std::string> common(one.cells[0].flags.begin(), one.cells[0].flags.end());
  for (const PairCell& cell : one.cells) {
    std::erase_if(common, [&](const std::string& flag) {
      return std::count(cell.flags.begin(), cell.flags.end(), flag) == 0;
    });
  }
  return common;
}

// Marks of all matrices, for the legend.
struct Legend {
  Marks flags;
  bool bad = false;
  bool uncertain = false;

  std::string Text(int width) const {
    std::string text;
    if (bad) text += std::string(kBadMark) + "  bad node or link\n";
    if (uncertain) text += std::string(kUncertainMark) + "  perhaps bad, but too uncertain\n";
    return text + flags.Legend(width);
  }
};

struct MatrixCell {
  std::string number = "-";
  std::string marks;
  Tone tone = Tone::kDim;
};

MatrixCell MakeCell(const PairCase& one, size_t index, const std::set<std::string>& common,
                    Legend& legend) {
  const PairCell& cell = one.cells[index];
  MatrixCell made{FormatNumber(cell.value.value, one.unit, 4), "", Tone::kPlain};
  const PairVerdict verdict = one.analysis.values[index].verdict;
  if (verdict == PairVerdict::kBadNode || verdict == PairVerdict::kBadLink) {
    legend.bad = true;
    made.marks = kBadMark;
    made.tone = Tone::kBad;
  } else if (verdict == PairVerdict::kUncertain) {
    legend.uncertain = true;
    made.marks = kUncertainMark;
    made.tone = Tone::kDoubtful;
  }
  std::vector<std::string> flags = cell.flags;
  std::erase_if(flags, [&](const std::string& flag) { return common.count(flag) > 0; });
  made.marks += legend.flags.Letters(flags);
  if (!flags.empty() && made.tone == Tone::kPlain) made.tone = Tone::kDoubtful;
  return made;
}

std::string Matrix(const PairReport& report, const PairCase& one, const Style& style,
                   const std::set<std::string>& common, Legend& legend) {
  std::map<std::pair<size_t, size_t>, MatrixCell> cells;
  for (size_t i = 0; i < one.cells.size(); ++i) {
    const auto& value = one.cells[i].value;
    const MatrixCell cell = MakeCell(one, i, common, legend);
    cells[{value.from, value.to}] = cell;
    if (!one.analysis.directed) cells.try_emplace({value.to, value.from}, cell);
  }
  // The marks of one column have the same width, so that its numbers stay aligned.
  std::map<size_t, size_t> widths;
  for (const auto& [pair, cell] : cells) {
    widths[pair.second] = std::max(widths[pair.second], cell.marks.size());
  }
  std::vector<Column> columns = {{"NODE"}};
  for (const size_t node : one.nodes) {
    columns.push_back(
        {Sanitize(report.nodes[node]) + std::string(widths[node], ' '), Align::kRight, 1});
  }
  Table table(std::move(columns));
  for (const size_t row : one.nodes) {
    std::vector<Cell> line = {Sanitize(report.nodes[row])};
    for (const size_t column : one.nodes) {
      MatrixCell cell;
      if (const auto found = cells.find({row, column}); found != cells.end()) {
        cell = found->second;
      } else if (FailureOf(report, one, row, column) != nullptr) {
        cell = {"failed", "", Tone::kBad};
      }
      cell.marks.resize(widths[column], ' ');
      line.emplace_back(cell.number + cell.marks, cell.tone);
    }
    table.Add(std::move(line));
  }
  std::string text;
  for (const char c : table.Render(style)) {
    while (c == '\n' && text.ends_with(' ')) text.pop_back();
    text += c;
  }
  return text;
}

std::vector<std::string> Findings(const PairReport& report, const PairCase& one) {
  std::vector<std::string> findings;
  for (const PairFinding& found : analysis::FindingsOf(report, one)) {
    findings.push_back(SubjectOf(report, found.nodes) + ": " + found.text);
  }
  for (std::string& gap : analysis::GapsOf(report, one)) findings.push_back(std::move(gap));
  if (one.verdict() == Verdict::kClear) {
    findings.push_back("Clear: no node or link is worse than the others by " +
                       FormatFixed(100 * report.threshold, 0) + "%.");
  } else if (one.verdict() == Verdict::kUndecided) {
    findings.emplace_back(
        "Undecided: nothing is certainly bad, but not everything could be judged.");
  }
  return findings;
}

std::string FailuresText(const PairReport& report, int width) {
  std::string text;
  for (const PairFinding& found : analysis::FailuresOf(report)) {
    text +=
        Wrap("  " + Sanitize(SubjectOf(report, found.nodes) + ": " + found.text), width, 4) + "\n";
  }
  return text.empty() ? "" : "\nFailures:\n" + text;
}

std::string SuspectsText(const PairReport& report, int width) {
  if (report.suspects.empty()) return "";
  std::string text = "\nTo check, most likely first:\n";
  for (const analysis::Suspect& suspect : report.suspects) {
    std::vector<size_t> nodes = {suspect.a};
    if (!suspect.is_node()) nodes.push_back(suspect.b);
    std::string line = "  " + SubjectOf(report, nodes);
    if (report.cases.size() > 1 && !suspect.analyses.empty()) {
      line += ", in " + std::to_string(suspect.analyses.size()) + " of " +
              std::to_string(report.cases.size()) + " cases";
    }
    text += Wrap(Sanitize(line + ": " + AdviceOn(report, suspect)), width, 4) + "\n";
  }
  return text;
}

const char* VerdictName(Verdict verdict) {
  return verdict == Verdict::kClear ? "clear" : verdict == Verdict::kBad ? "bad" : "undecided";
}

const char* VerdictName(PairVerdict verdict) {
  static const std::map<PairVerdict, const char*> names = {{PairVerdict::kOk, "ok"},
                                                           {PairVerdict::kBadNode, "bad_node"},
                                                           {PairVerdict::kBadLink, "bad_link"},
                                                           {PairVerdict::kUncertain, "uncertain"},
                                                           {PairVerdict::kUnjudged, "unjudged"}};
  return names.at(verdict);
}

// Returns the 95% confidence interval of a value whose error is known.
std::optional<std::pair<double, double>> IntervalOf(const analysis::PairValue& value) {
  if (!value.error) return std::nullopt;
  const double half = analysis::kHalfInterval * *value.error;
  return std::pair(std::max(0.0, value.value - half), value.value + half);
}

Json PairJson(const PairReport& report, const PairCase& one, size_t index) {
  const PairCell& cell = one.cells[index];
  const analysis::JudgedValue& judged = one.analysis.values[index];
  Json json = {{"from", report.nodes[cell.value.from]},
               {"to", report.nodes[cell.value.to]},
               {"median", cell.value.value}};
  if (const auto interval = IntervalOf(cell.value)) {
    json["ci_low"] = interval->first;
    json["ci_high"] = interval->second;
  }
  json["repetitions"] = cell.repetitions;
  if (judged.expected) json["expected"] = *judged.expected;
  json["verdict"] = VerdictName(judged.verdict);
  json["flags"] = cell.flags;
  return json;
}

// Adds "bad_nodes" and "bad_links" if `certain`, else the uncertain ones.
void AddBad(const PairReport& report, const PairCase& one, bool certain, Json& json) {
  static const std::map<NodeSide, const char*> sides = {{NodeSide::kBoth, "both"},
                                                        {NodeSide::kSending, "sending"},
                                                        {NodeSide::kReceiving, "receiving"}};
  const std::string prefix = certain ? "bad_" : "uncertain_";
  Json& nodes = json[prefix + "nodes"] = Json::array();
  for (const BadNode& bad : one.analysis.nodes) {
    if (bad.certain != certain) continue;
    nodes.push_back({{"node", report.nodes[bad.node]},
                     {"side", sides.at(bad.side)},
                     {"deficit", bad.deficit},
                     {"bad_links", bad.bad_links},
                     {"links", bad.links}});
  }
  Json& links = json[prefix + "links"] = Json::array();
  for (const BadLink& bad : one.analysis.links) {
    if (bad.certain != certain) continue;
    links.push_back({{"from", report.nodes[bad.from]},
                     {"to", report.nodes[bad.to]},
                     {"one_way", bad.one_way},
                     {"deficit", bad.deficit}});
  }
}

Json NamesJson(const PairReport& report, const std::vector<size_t>& nodes) {
  Json json = Json::array();
  for (const size_t node : nodes) json.push_back(report.nodes[node]);
  return json;
}

Json CaseJson(const PairReport& report, const PairCase& one) {
  const analysis::PairAnalysis& found = one.analysis;
  Json json = {{"benchmark", one.benchmark},
               {"parameters", one.parameters},
               {"metric", one.metric},
               {"unit", one.unit},
               {"higher_is_better", one.higher_is_better},
               {"verdict", VerdictName(one.verdict())},
               {"directed", found.directed},
               {"additive", found.additive},
               {"noise", found.noise},
               {"threshold", found.threshold},
               {"node_limit", found.node_limit},
               {"link_limit", found.link_limit},
               {"nodes", NamesJson(report, one.nodes)},
               {"pairs", Json::array()}};
  for (size_t i = 0; i < one.cells.size(); ++i) json["pairs"].push_back(PairJson(report, one, i));
  AddBad(report, one, true, json);
  AddBad(report, one, false, json);
  json["unjudged_nodes"] = NamesJson(report, found.unjudged_nodes);
  json["missing"] = Json::array();
  for (const auto& [a, b] : one.missing) {
    json["missing"].push_back({{"from", report.nodes[a]}, {"to", report.nodes[b]}});
  }
  return json;
}

}  // namespace

std::string PairsText(const PairReport& report, const Style& style) {
  std::string text;
  Legend legend;
  for (const PairCase& one : report.cases) {
    const std::set<std::string> common = CommonFlags(one);
    const std::string letters = legend.flags.Letters({common.begin(), common.end()});
    const std::string heading =
        CaseName(one) + ": " + one.metric + " in " + one.unit +
        (one.analysis.directed ? " from row to column" : " between row and column") +
        (letters.empty() ? "" : ", all " + letters);
    text += (text.empty() ? "" : "\n") + Wrap(Sanitize(heading), style.width, 2) + "\n" +
            Matrix(report, one, style, common, legend);
    for (const std::string& finding : Findings(report, one)) {
      text += Wrap(Sanitize(finding), style.width, 2) + "\n";
    }
  }
  const std::string marks = legend.Text(style.width);
  return text + (marks.empty() ? "" : "\n" + marks) + FailuresText(report, style.width) +
         SuspectsText(report, style.width);
}

std::string PairsCsv(const PairReport& report) {
  std::string csv =
      CsvRecord({"benchmark", "parameters", "metric", "unit", "from", "to", "median", "ci_low",
                 "ci_high", "repetitions", "expected", "verdict", "flags", "failure"});
  for (const PairCase& one : report.cases) {
    const auto add = [&](size_t from, size_t to, const std::vector<std::string>& rest) {
      std::vector<std::string> fields = {one.benchmark, one.parameters,     one.metric,
                                         one.unit,      report.nodes[from], report.nodes[to]};
      fields.insert(fields.end(), rest.begin(), rest.end());
      csv += CsvRecord(fields);
    };
    for (size_t i = 0; i < one.cells.size(); ++i) {
      const PairCell& cell = one.cells[i];
      const analysis::JudgedValue& judged = one.analysis.values[i];
      const auto interval = IntervalOf(cell.value);
      add(cell.value.from, cell.value.to,
          {FormatExact(cell.value.value), interval ? FormatExact(interval->first) : "",
           interval ? FormatExact(interval->second) : "", std::to_string(cell.repetitions),
           judged.expected ? FormatExact(*judged.expected) : "", VerdictName(judged.verdict),
           Join(cell.flags, ";"), ""});
    }
    for (const auto& [a, b] : one.missing) {
      const PairFailure* failure = FailureOf(report, one, a, b);
      add(a, b,
          {"", "", "", "", "", failure == nullptr ? "missing" : "failed", "",
           failure == nullptr ? "" : failure->reason});
    }
  }
  return csv;
}

std::string PairsJson(const PairReport& report) {
  Json json = {{"verdict", VerdictName(report.verdict())},
               {"waiting_jobs", report.waiting_jobs},
               {"absent_nodes", report.absent_nodes},
               {"cases", Json::array()},
               {"failures", Json::array()},
               {"suspects", Json::array()}};
  for (const PairCase& one : report.cases) json["cases"].push_back(CaseJson(report, one));
  for (const PairFailure& failure : report.failures) {
    json["failures"].push_back({{"nodes", NamesJson(report, {failure.a, failure.b})},
                                {"benchmark", failure.benchmark},
                                {"jobs", failure.jobs},
                                {"reason", failure.reason}});
  }
  for (const analysis::Suspect& suspect : report.suspects) {
    json["suspects"].push_back(
        {{"kind", suspect.is_node() ? "node" : "link"},
         {"nodes", suspect.is_node() ? NamesJson(report, {suspect.a})
                                     : NamesJson(report, {suspect.a, suspect.b})},
         {"failed", suspect.failed},
         {"cases", suspect.analyses}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli
