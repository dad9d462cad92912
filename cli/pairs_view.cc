#include "cli/pairs_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "cli/format.h"
#include "cli/output.h"
#include "cli/utf8.h"

namespace assay::cli {
namespace {

using Pair = std::pair<size_t, size_t>;

std::string Percent(double part) { return FormatFixed(100 * part, 0) + "%"; }

std::string PairName(const PairCase& measured, size_t a, size_t b) {
  return measured.nodes[a] + "-" + measured.nodes[b];
}

const char* Below(const PairCase& measured) {
  return measured.higher_is_better ? " below " : " above ";
}

// Pairs that were measured, both directions being one.
std::set<Pair> MeasuredPairs(const PairCase& measured) {
  std::set<Pair> pairs;
  for (const PairValue& value : measured.values) pairs.insert(std::minmax(value.from, value.to));
  return pairs;
}

std::string NodeText(const PairCase& measured, const BadNode& bad) {
  static const std::map<NodeSide, std::string> sides = {
      {NodeSide::kBoth, ""},
      {NodeSide::kSending, " when it sends,"},
      {NodeSide::kReceiving, " when it receives,"}};
  const std::string links = bad.bad_links == bad.links ? "all of its " + std::to_string(bad.links)
                                                       : std::to_string(bad.bad_links) +
                                                             " of its " + std::to_string(bad.links);
  return "node " + measured.nodes[bad.node] + ": " + Percent(bad.deficit) + Below(measured) +
         "the others" + sides.at(bad.side) + " on " + links + " links";
}

std::string LinkText(const PairCase& measured, const BadLink& bad) {
  const std::string text = "link " + PairName(measured, bad.from, bad.to) + ": " +
                           Percent(bad.deficit) + Below(measured) +
                           "what both nodes reach elsewhere";
  if (!bad.one_way) return text;
  return text + ", from " + measured.nodes[bad.from] + " to " + measured.nodes[bad.to] + " alone";
}

// Pairs without a value, those of a node that fails with every other as one.
void AddFailures(const PairCase& measured, std::vector<std::string>& findings) {
  std::map<size_t, size_t> failed;
  std::set<size_t> alive;
  for (const auto& [pair, why] : measured.failures) {
    ++failed[pair.first];
    ++failed[pair.second];
  }
  for (const PairValue& value : measured.values) alive.insert({value.from, value.to});
  std::set<size_t> dead;
  for (const auto& [node, count] : failed) {
    if (alive.count(node) == 0 && count > 1 && !alive.empty()) dead.insert(node);
  }
  for (const size_t node : dead) {
    const auto first =
        std::find_if(measured.failures.begin(), measured.failures.end(), [&](const auto& failure) {
          return failure.first.first == node || failure.first.second == node;
        });
    findings.push_back("node " + measured.nodes[node] + ": all of its " +
                       std::to_string(failed[node]) + " pairs failed: " + first->second);
  }
  for (const auto& [pair, why] : measured.failures) {
    if (dead.count(pair.first) + dead.count(pair.second) > 0) continue;
    findings.push_back("link " + PairName(measured, pair.first, pair.second) + ": failed: " + why);
  }
}

// What can be said of too few nodes to judge.
std::string NotJudged(const PairCase& measured) {
  const size_t pairs = MeasuredPairs(measured).size();
  if (pairs == 0) return "";
  std::string text;
  const auto [low, high] =
      std::minmax_element(measured.values.begin(), measured.values.end(),
                          [](const PairValue& a, const PairValue& b) { return a.value < b.value; });
  if (pairs > 1) {
    const auto& bad = measured.higher_is_better ? *low : *high;
    const auto& good = measured.higher_is_better ? *high : *low;
    const double deficit =
        measured.higher_is_better ? 1 - bad.value / good.value : bad.value / good.value - 1;
    text = PairName(measured, bad.from, bad.to) + " is " + Percent(deficit) + Below(measured) +
           PairName(measured, good.from, good.to) + ". ";
  }
  return text + "A bad node cannot be told from a bad link with fewer than four nodes.";
}

std::string NothingFound(const PairCase& measured) {
  double worst = 0;
  for (size_t i = 0; i < measured.analysis.expected.size(); ++i) {
    worst = std::max(worst, std::abs(measured.values[i].value / measured.analysis.expected[i] - 1));
  }
  return "No node and no link stands out: " + std::to_string(MeasuredPairs(measured).size()) +
         " pairs of " + std::to_string(measured.nodes.size()) + " nodes lie within " +
         FormatFixed(100 * worst, 1) + "% of what their nodes reach elsewhere.";
}

// The value from `row` to `column`, or the other way where only that was measured.
std::optional<double> ValueOf(const PairCase& measured, size_t row, size_t column) {
  std::optional<double> back;
  for (const PairValue& value : measured.values) {
    if (value.from == row && value.to == column) return value.value;
    if (value.from == column && value.to == row) back = value.value;
  }
  return back;
}

bool IsBad(const PairCase& measured, size_t row, size_t column) {
  const auto& nodes = measured.analysis.nodes;
  const auto& links = measured.analysis.links;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const BadNode& bad) {
                       return (bad.node == row && bad.side != NodeSide::kReceiving) ||
                              (bad.node == column && bad.side != NodeSide::kSending);
                     }) ||
         std::any_of(links.begin(), links.end(), [&](const BadLink& bad) {
           return (bad.from == row && bad.to == column) ||
                  (!bad.one_way && bad.from == column && bad.to == row);
         });
}

std::string Matrix(const PairCase& measured, const Style& style) {
  std::vector<Column> columns = {{"NODE"}};
  for (const std::string& node : measured.nodes) {
    columns.push_back({Sanitize(node), Align::kRight, 1});
  }
  Table table(std::move(columns));
  for (size_t row = 0; row < measured.nodes.size(); ++row) {
    std::vector<Cell> cells = {Sanitize(measured.nodes[row])};
    for (size_t column = 0; column < measured.nodes.size(); ++column) {
      const auto value = ValueOf(measured, row, column);
      if (value) {
        cells.emplace_back(FormatSignificant(*value, 4),
                           IsBad(measured, row, column) ? Tone::kBad : Tone::kPlain);
      } else if (measured.failures.count(std::minmax(row, column)) > 0) {
        cells.emplace_back("failed", Tone::kBad);
      } else {
        cells.emplace_back("-", Tone::kDim);
      }
    }
    table.Add(std::move(cells));
  }
  return table.Render(style);
}

std::string Heading(const PairCase& measured) {
  const std::string name =
      measured.benchmark + (measured.parameters.empty() ? "" : " " + measured.parameters);
  if (measured.metric.empty()) return name;
  const bool both = measured.directed && measured.analysis.both_ways;
  return name + ": " + measured.metric + " in " + measured.unit +
         (both ? " from row to column" : " between row and column");
}

}  // namespace

std::vector<std::string> PairFindings(const PairCase& measured) {
  std::vector<std::string> findings;
  for (const BadNode& bad : measured.analysis.nodes) findings.push_back(NodeText(measured, bad));
  for (const BadLink& bad : measured.analysis.links) findings.push_back(LinkText(measured, bad));
  AddFailures(measured, findings);
  if (!measured.analysis.judged) {
    const std::string text = NotJudged(measured);
    if (!text.empty()) findings.push_back(text);
    return findings;
  }
  for (const size_t node : measured.analysis.unjudged_nodes) {
    findings.push_back("node " + measured.nodes[node] +
                       ": not judged, for fewer than three of its links were measured");
  }
  if (findings.empty()) findings.push_back(NothingFound(measured));
  return findings;
}

bool AnyBad(const PairCase& measured) {
  return !measured.analysis.nodes.empty() || !measured.analysis.links.empty() ||
         !measured.failures.empty();
}

std::string PairsText(const std::vector<PairCase>& cases, const Style& style) {
  std::string text;
  for (const PairCase& measured : cases) {
    text +=
        (text.empty() ? "" : "\n") + Sanitize(Heading(measured)) + "\n" + Matrix(measured, style);
    for (const std::string& finding : PairFindings(measured)) {
      text += Wrap(Sanitize(finding), style.width, 2) + "\n";
    }
  }
  return text;
}

std::string PairsCsv(const std::vector<PairCase>& cases) {
  std::string csv = CsvRecord({"benchmark", "parameters", "metric", "unit", "from", "to", "median",
                               "expected", "ratio", "failure"});
  for (const PairCase& measured : cases) {
    const auto record = [&](size_t from, size_t to, const std::string& median,
                            const std::string& expected, const std::string& ratio,
                            const std::string& failure) {
      csv +=
          CsvRecord({measured.benchmark, measured.parameters, measured.metric, measured.unit,
                     measured.nodes[from], measured.nodes[to], median, expected, ratio, failure});
    };
    for (size_t i = 0; i < measured.values.size(); ++i) {
      const PairValue& value = measured.values[i];
      const auto& expected = measured.analysis.expected;
      record(value.from, value.to, FormatExact(value.value),
             expected.empty() ? "" : FormatExact(expected[i]),
             expected.empty() ? "" : FormatExact(value.value / expected[i]), "");
    }
    for (const auto& [pair, why] : measured.failures) {
      record(pair.first, pair.second, "", "", "", why);
    }
  }
  return csv;
}

std::string PairsJson(const std::vector<PairCase>& cases) {
  using Json = nlohmann::ordered_json;
  static const std::map<NodeSide, std::string> sides = {{NodeSide::kBoth, "both"},
                                                        {NodeSide::kSending, "sending"},
                                                        {NodeSide::kReceiving, "receiving"}};
  std::string json = "[";
  for (const PairCase& measured : cases) {
    const PairAnalysis& analysis = measured.analysis;
    Json object = {{"benchmark", measured.benchmark}, {"parameters", measured.parameters},
                   {"metric", measured.metric},       {"unit", measured.unit},
                   {"nodes", measured.nodes},         {"judged", analysis.judged},
                   {"noise", analysis.noise},         {"pairs", Json::array()},
                   {"bad_nodes", Json::array()},      {"bad_links", Json::array()},
                   {"failures", Json::array()},       {"findings", PairFindings(measured)}};
    for (size_t i = 0; i < measured.values.size(); ++i) {
      const PairValue& value = measured.values[i];
      Json pair = {{"from", measured.nodes[value.from]},
                   {"to", measured.nodes[value.to]},
                   {"median", value.value}};
      if (!analysis.expected.empty()) pair["expected"] = analysis.expected[i];
      object["pairs"].push_back(pair);
    }
    for (const BadNode& bad : analysis.nodes) {
      object["bad_nodes"].push_back({{"node", measured.nodes[bad.node]},
                                     {"side", sides.at(bad.side)},
                                     {"deficit", bad.deficit},
                                     {"bad_links", bad.bad_links},
                                     {"links", bad.links}});
    }
    for (const BadLink& bad : analysis.links) {
      object["bad_links"].push_back({{"from", measured.nodes[bad.from]},
                                     {"to", measured.nodes[bad.to]},
                                     {"one_way", bad.one_way},
                                     {"deficit", bad.deficit}});
    }
    for (const auto& [pair, why] : measured.failures) {
      object["failures"].push_back({{"from", measured.nodes[pair.first]},
                                    {"to", measured.nodes[pair.second]},
                                    {"reason", why}});
    }
    json += (json.size() > 1 ? ",\n" : "\n") + object.dump();
  }
  return json + (json.size() > 1 ? "\n]\n" : "]\n");
}

}  // namespace assay::cli
