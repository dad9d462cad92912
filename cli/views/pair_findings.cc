// What stands out of a matrix of pairs, in sentences.
#include <algorithm>
#include <map>
#include <set>

#include "cli/views/format.h"
#include "cli/views/pair_text.h"
#include "cli/views/pairs_view.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostListed = 10;

std::string Percent(double part, int decimals) { return FormatFixed(100 * part, decimals) + "%"; }

// A deficit, or the noise: relative, or in the values' unit.
std::string Amount(const PairCase& measured, double deficit, int decimals = 0) {
  if (!measured.analysis.additive) return Percent(deficit, decimals);
  std::string number = FormatNumber(deficit, measured.unit, 3);
  if (measured.unit.empty()) return number;
  const bool one = IsCount(measured.unit) && number == "1";
  return number + " " + measured.unit.substr(0, measured.unit.size() - (one ? 1 : 0));
}

const char* Below(const PairCase& measured) {
  return measured.higher_is_better ? " below " : " above ";
}

std::string Joined(const std::vector<std::string>& texts) { return JoinSome(texts, kMostListed); }

// Pairs that were measured, both directions being one.
size_t CountPairs(const PairCase& measured) {
  std::set<std::pair<size_t, size_t>> pairs;
  for (const PairCell& cell : measured.cells) {
    pairs.insert(std::minmax(cell.value.from, cell.value.to));
  }
  return pairs.size();
}

// "6 pairs of 4 nodes": those that were judged.
std::string JudgedText(const PairCase& measured) {
  std::set<std::pair<size_t, size_t>> pairs;
  std::set<size_t> nodes;
  for (const PairCell& cell : measured.cells) {
    const PairValue& value = cell.value;
    if (PairVerdict(measured, value.from, value.to) == "unjudged") continue;
    pairs.insert(std::minmax(value.from, value.to));
    nodes.insert({value.from, value.to});
  }
  return std::to_string(pairs.size()) + (pairs.size() == 1 ? " pair of " : " pairs of ") +
         std::to_string(nodes.size()) + " nodes";
}

// " (flagged throttled)": what most of the values that `is_evidence` picks are flagged with,
// unless all values are.
template <typename IsEvidence>
std::string FlaggedText(const PairCase& measured, IsEvidence is_evidence) {
  std::map<std::string, std::pair<size_t, size_t>> counts;  // Evidence, all.
  size_t evidence = 0;
  for (const PairCell& cell : measured.cells) {
    const bool counts_here = is_evidence(cell.value);
    evidence += counts_here ? 1 : 0;
    for (const std::string& flag : cell.flags) {
      counts[flag].first += counts_here ? 1 : 0;
      ++counts[flag].second;
    }
  }
  std::vector<std::string> flags;
  for (const auto& [flag, count] : counts) {
    if (2 * count.first > evidence && count.second < measured.cells.size()) flags.push_back(flag);
  }
  return flags.empty() ? "" : " (flagged " + Joined(flags) + ")";
}

std::string NodeText(const PairCase& measured, const BadNode& bad) {
  static const std::map<NodeSide, std::string> sides = {
      {NodeSide::kBoth, ""},
      {NodeSide::kSending, " when it sends,"},
      {NodeSide::kReceiving, " when it receives,"}};
  const std::string links = bad.bad_links == bad.links ? "all of its " + std::to_string(bad.links)
                                                       : std::to_string(bad.bad_links) +
                                                             " of its " + std::to_string(bad.links);
  return Amount(measured, bad.deficit) + Below(measured) + "the others" + sides.at(bad.side) +
         " on " + links + " links" + FlaggedText(measured, [&](const PairValue& value) {
           return (bad.side != NodeSide::kReceiving && value.from == bad.node) ||
                  (bad.side != NodeSide::kSending && value.to == bad.node);
         });
}

std::string LinkText(const PairCase& measured, const BadLink& bad) {
  std::string text =
      Amount(measured, bad.deficit) + Below(measured) + "what both nodes reach elsewhere";
  if (bad.one_way) {
    const bool turned = CellBetween(measured, bad.to, bad.from) != nullptr;
    text += ", from " + measured.nodes[bad.from] + " to " + measured.nodes[bad.to] +
            (turned ? " alone" : " (the other way was not measured)");
  }
  return text + FlaggedText(measured, [&](const PairValue& value) {
           return (value.from == bad.from && value.to == bad.to) ||
                  (!bad.one_way && value.from == bad.to && value.to == bad.from);
         });
}

// Why a value cannot bear out what it seems to say.
std::string WhyDoubtful(const PairCase& measured, const BadLink& doubtful) {
  const PairCell* cell = CellBetween(measured, doubtful.from, doubtful.to);
  if (cell == nullptr) cell = CellBetween(measured, doubtful.to, doubtful.from);
  if (cell == nullptr || !cell->interval) return "it is a single number without an interval";
  return "the 95% interval of its own value is " +
         FormatNumber(cell->interval->first, measured.unit, 4) + " to " +
         FormatNumber(cell->interval->second, measured.unit, 4) + " " + measured.unit;
}

void AddDoubtful(const PairCase& measured, std::vector<std::string>& findings) {
  for (const BadNode& one : measured.analysis.doubtful_nodes) {
    findings.push_back(NodeName(measured, one.node) + ": perhaps " + NodeText(measured, one) +
                       ", but its values are too uncertain to tell: measure it again");
  }
  for (const BadLink& one : measured.analysis.doubtful_links) {
    findings.push_back(LinkName(measured, one.from, one.to) + ": perhaps " +
                       LinkText(measured, one) + ", but " + WhyDoubtful(measured, one) +
                       ": measure it again");
  }
}

// Why the pairs of a node failed: each machine-readable reason with the first of its messages,
// which differ by the other node. "PEER_TIMEOUT (3 pairs), for example a-e: ...".
std::string ReasonsOf(const PairCase& measured, size_t node) {
  std::map<std::string, std::vector<const PairFailure*>> by_reason;
  for (const PairFailure& failure : measured.failures) {
    const bool its = failure.from == node || failure.to == node;
    if (!its || failure.kind != PairFailureKind::kFailed) continue;
    by_reason[failure.reason.substr(0, failure.reason.find(':'))].push_back(&failure);
  }
  std::string text;
  for (const auto& [reason, failures] : by_reason) {
    const PairFailure& first = *failures[0];
    text += text.empty() ? "" : "; ";
    const bool alike = std::all_of(failures.begin(), failures.end(), [&](const PairFailure* one) {
      return one->reason == first.reason;
    });
    if (alike && by_reason.size() == 1) return first.reason;
    text += reason + " (" + std::to_string(failures.size()) +
            (failures.size() == 1 ? " pair)" : " pairs)");
    if (first.reason.size() == reason.size()) continue;
    text += ", " + std::string(alike ? "" : "for example ") +
            PairName(measured, first.from, first.to, false) + first.reason.substr(reason.size());
  }
  return text;
}

// Pairs without a value, those of a node that fails with others as one.
void AddFailures(const PairCase& measured, std::vector<std::string>& findings) {
  for (const DeadNode& dead : measured.dead) {
    const std::string pairs = std::to_string(dead.pairs) + " pairs failed: ";
    findings.push_back(NodeName(measured, dead.node) + ": " +
                       (dead.dead == dead.pairs ? "all of its " + pairs
                                                : std::to_string(dead.dead) + " of its " + pairs) +
                       ReasonsOf(measured, dead.node));
  }
  const auto is_failed = [](const PairFailure& one) {
    return one.kind == PairFailureKind::kFailed;
  };
  if (measured.cells.empty() &&
      std::count_if(measured.failures.begin(), measured.failures.end(), is_failed) > 1) {
    findings.emplace_back("Every pair failed, so that no node can be told from the others.");
  }
  for (const PairFailure& failure : measured.failures) {
    const bool failed = is_failed(failure);
    if (failed && DeadOf(measured, failure.from, failure.to) != nullptr) continue;
    std::string text = LinkName(measured, failure.from, failure.to);
    text += failed                                         ? ": failed"
            : failure.kind == PairFailureKind::kRepetition ? ": one of its jobs failed"
                                                           : ": unsupported";
    if (failure.one_way) text += " from " + PairName(measured, failure.from, failure.to, true);
    findings.push_back(text.append(": ").append(failure.reason));
  }
}

void AddMissing(const PairCase& measured, std::vector<std::string>& findings) {
  if (measured.missing.empty()) return;
  std::vector<std::string> names;
  for (const auto& [from, to] : measured.missing) {
    names.push_back(PairName(measured, from, to, measured.analysis.both_ways));
  }
  findings.push_back("Not measured: " + Joined(names) + ".");
}

// There is one at least.
std::pair<PairValue, PairValue> LowestAndHighest(const PairCase& measured) {
  const auto [low, high] = std::minmax_element(
      measured.cells.begin(), measured.cells.end(),
      [](const PairCell& a, const PairCell& b) { return a.value.value < b.value.value; });
  return {low->value, high->value};
}

std::string AllHave(const PairCase& measured, double value) {
  return "All have " + FormatNumber(value, measured.unit, 4) + " " + measured.unit + ".";
}

// "2 of 6 pairs are measured", or directions where each counts.
std::string MeasuredText(const PairCase& measured) {
  const size_t nodes = measured.nodes.size();
  const bool both_ways = measured.analysis.both_ways;
  const size_t count = both_ways ? measured.cells.size() : CountPairs(measured);
  return std::to_string(count) + " of " +
         std::to_string(both_ways ? nodes * (nodes - 1) : nodes * (nodes - 1) / 2) +
         (both_ways ? " directions " : " pairs ") + (count == 1 ? "is" : "are") + " measured";
}

// How to get what is not measured: " Wait ...".
std::string RemedyText(const PairCase& measured) {
  if (measured.waiting > 0) {
    return " Wait for the campaign to end: " + std::to_string(measured.waiting) +
           (measured.waiting == 1 ? " job is" : " jobs are") + " still to be done.";
  }
  if (!measured.missing.empty()) {
    return " No job is to measure the rest any more: submit the campaign again.";
  }
  const bool failed =
      std::any_of(measured.failures.begin(), measured.failures.end(),
                  [](const PairFailure& one) { return one.kind == PairFailureKind::kFailed; });
  return failed ? " Mend what failed and submit the campaign again." : "";
}

constexpr size_t kMinNodes = 4;

// What can be said where nothing can be judged.
std::string NotJudged(const PairCase& measured) {
  const size_t pairs = CountPairs(measured);
  if (pairs == 0) return "";
  std::string text;
  const auto [low, high] = LowestAndHighest(measured);
  const PairValue& bad = measured.higher_is_better ? low : high;
  const PairValue& good = measured.higher_is_better ? high : low;
  const bool additive = measured.analysis.additive;
  if (pairs > 1 && good.value == bad.value) {
    text = AllHave(measured, good.value) + " ";
  } else if (pairs > 1 && (good.value > 0 || additive)) {  // Nothing is a percentage of zero.
    const double deficit = additive                    ? bad.value - good.value
                           : measured.higher_is_better ? 1 - bad.value / good.value
                                                       : bad.value / good.value - 1;
    text = PairName(measured, bad.from, bad.to, false) + " is " + Amount(measured, deficit) +
           Below(measured) + PairName(measured, good.from, good.to, false) + ". ";
  }
  if (measured.nodes.size() < kMinNodes) {
    text += "A bad node cannot be told from a bad link with fewer than four nodes.";
    return measured.missing.empty() ? text : text + RemedyText(measured);
  }
  return text + "Cannot judge: " + MeasuredText(measured) +
         ", and a node takes three of its links, a link two such nodes." + RemedyText(measured);
}

// What was left out of the judgement, and how to get it.
std::string PartlyJudged(const PairCase& measured) {
  std::vector<std::string> nodes;
  for (const size_t node : measured.analysis.unjudged_nodes) {
    nodes.push_back(measured.nodes[node]);
  }
  const std::string unjudged = ", fewer than three of the links of " +
                               std::string(nodes.size() == 1 ? "node " : "each of nodes ") +
                               Joined(nodes);
  return "Judged in part: " + MeasuredText(measured) + (nodes.empty() ? "" : unjudged) + "." +
         RemedyText(measured);
}

std::string NothingFound(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  const bool whole = JudgementOf(measured) == PairJudgement::kWhole;
  std::string text = whole ? "No" : "Of what can be judged, no";
  text += " node and no link stands out: " + JudgedText(measured) + ".";
  if (!analysis.last_node || !analysis.last_link) return text;
  const auto [low, high] = LowestAndHighest(measured);
  if (low.value == high.value) {
    return text + " " + AllHave(measured, low.value);
  }
  const BadNode& node = *analysis.last_node;
  const BadLink& link = *analysis.last_link;
  return text + " The worst are node " + measured.nodes[node.node] + ", " +
         Amount(measured, std::max(0.0, node.deficit), 1) + Below(measured) +
         "the median node, and link " + PairName(measured, link.from, link.to, link.one_way) +
         ", " + Amount(measured, std::max(0.0, link.deficit), 1) + Below(measured) +
         "what both nodes reach elsewhere.";
}

// Nothing is as bad as that: a bandwidth below zero, a latency of thousands of times the others'.
bool IsBeyond(const PairCase& measured, double limit) {
  if (measured.analysis.additive) return false;
  constexpr double kRoundsToAll = 0.995;
  constexpr double kThousandfold = 999;
  return limit >= (measured.higher_is_better ? kRoundsToAll : kThousandfold);
}

// "85%"; of what is far above the others "24 times the others'".
std::string LimitText(const PairCase& measured, double limit) {
  constexpr double kTenMore = 10;
  if (limit < kTenMore || measured.analysis.additive) return Amount(measured, limit);
  return FormatFixed(1 + limit, 0) + " times the others'";
}

// What the noise hides, where that is more than was asked for.
std::string NoiseText(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  if (!NoiseHides(measured)) return "";
  const bool no_node = IsBeyond(measured, analysis.node_limit);
  const bool no_link = IsBeyond(measured, analysis.link_limit);
  const std::string node =
      "a node is named from " + LimitText(measured, analysis.node_limit) + " on";
  std::string hidden =
      node + " and a link from " + LimitText(measured, analysis.link_limit) + " on only";
  if (no_link) hidden = no_node ? "no node and no link can be named" : node + " only and no link";
  return "Pairs scatter by up to " + Amount(measured, analysis.noise, 1) + ", so that " + hidden +
         "; more `repetitions` in the campaign tell " +
         (no_node && no_link ? "them." : "smaller ones.");
}

}  // namespace

bool NoiseHides(const PairCase& measured) {
  constexpr double kNoticeable = 1.01;
  const PairAnalysis& analysis = measured.analysis;
  return analysis.last_link && analysis.link_limit >= kNoticeable * analysis.threshold;
}

std::vector<std::string> PairFindings(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  std::vector<std::string> findings;
  for (const BadNode& bad : analysis.nodes) {
    findings.push_back(NodeName(measured, bad.node) + ": " + NodeText(measured, bad));
  }
  for (const BadLink& bad : analysis.links) {
    findings.push_back(LinkName(measured, bad.from, bad.to) + ": " + LinkText(measured, bad));
  }
  AddFailures(measured, findings);
  AddDoubtful(measured, findings);
  const bool anything = !findings.empty();
  const PairJudgement judgement = JudgementOf(measured);
  if (judgement == PairJudgement::kNone) {
    const std::string text = NotJudged(measured);
    if (!text.empty()) findings.push_back(text);
    AddMissing(measured, findings);
    return findings;
  }
  if (judgement == PairJudgement::kPartial) findings.push_back(PartlyJudged(measured));
  if (!anything) findings.push_back(NothingFound(measured));
  const std::string noise = NoiseText(measured);
  if (!noise.empty()) findings.push_back(noise);
  AddMissing(measured, findings);
  return findings;
}

}  // namespace assay::cli
