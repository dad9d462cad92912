// What stands out of a matrix of pairs, in sentences.
#include <algorithm>
#include <map>
#include <set>

#include "cli/format.h"
#include "cli/pairs_view.h"

namespace assay::cli {
namespace {

constexpr size_t kMostListed = 10;

std::string Percent(double part, int decimals) { return FormatFixed(100 * part, decimals) + "%"; }

// A deficit, or the noise: relative, or in the values' unit.
std::string Amount(const PairCase& measured, double deficit, int decimals = 0) {
  if (!measured.analysis.additive) return Percent(deficit, decimals);
  return FormatSignificant(deficit, 3) + (measured.unit.empty() ? "" : " " + measured.unit);
}

const char* Below(const PairCase& measured) {
  return measured.higher_is_better ? " below " : " above ";
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kMostListed); ++i) {
    text += (i == 0 ? "" : ", ") + texts[i];
  }
  if (texts.size() <= kMostListed) return text;
  return text + " and " + std::to_string(texts.size() - kMostListed) + " more";
}

// Pairs that were measured, both directions being one.
size_t CountPairs(const PairCase& measured) {
  std::set<std::pair<size_t, size_t>> pairs;
  for (const PairCell& cell : measured.cells) {
    pairs.insert(std::minmax(cell.value.from, cell.value.to));
  }
  return pairs.size();
}

const PairCell* CellBetween(const PairCase& measured, size_t from, size_t to) {
  const auto found = std::find_if(
      measured.cells.begin(), measured.cells.end(),
      [&](const PairCell& cell) { return cell.value.from == from && cell.value.to == to; });
  return found == measured.cells.end() ? nullptr : &*found;
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

std::string NodeName(const PairCase& measured, size_t node) {
  return "node " + measured.nodes[node];
}

std::string LinkName(const PairCase& measured, size_t a, size_t b) {
  return "link " + PairName(measured, a, b, false);
}

// Why a value cannot bear out what it seems to say.
std::string WhyDoubtful(const PairCase& measured, const BadLink& doubtful) {
  const PairCell* cell = CellBetween(measured, doubtful.from, doubtful.to);
  if (cell == nullptr) cell = CellBetween(measured, doubtful.to, doubtful.from);
  if (cell == nullptr || !cell->interval) return "it is a single number without an interval";
  return "the 95% interval of its own value is " + FormatSignificant(cell->interval->first, 4) +
         " to " + FormatSignificant(cell->interval->second, 4) + " " + measured.unit;
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

const DeadNode* DeadOf(const PairCase& measured, size_t a, size_t b) {
  const auto found =
      std::find_if(measured.dead.begin(), measured.dead.end(),
                   [&](const DeadNode& dead) { return dead.node == a || dead.node == b; });
  return found == measured.dead.end() ? nullptr : &*found;
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

// What can be said of too few nodes to judge.
std::string NotJudged(const PairCase& measured) {
  const size_t pairs = CountPairs(measured);
  if (pairs == 0) return "";
  std::string text;
  const auto [low, high] = LowestAndHighest(measured);
  const PairValue& bad = measured.higher_is_better ? low : high;
  const PairValue& good = measured.higher_is_better ? high : low;
  // Nothing is a percentage of zero.
  if (pairs > 1 && good.value > 0) {
    const double deficit =
        measured.higher_is_better ? 1 - bad.value / good.value : bad.value / good.value - 1;
    text = PairName(measured, bad.from, bad.to, false) + " is " + Percent(deficit, 0) +
           Below(measured) + PairName(measured, good.from, good.to, false) + ". ";
  }
  return text + "A bad node cannot be told from a bad link with fewer than four nodes.";
}

std::string NothingFound(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  std::string text = "No node and no link stands out: " + std::to_string(CountPairs(measured)) +
                     " pairs of " + std::to_string(measured.nodes.size()) + " nodes.";
  if (!analysis.last_node || !analysis.last_link) return text;
  const auto [low, high] = LowestAndHighest(measured);
  if (low.value == high.value) {
    return text + " All have " + FormatSignificant(low.value, 4) + " " + measured.unit + ".";
  }
  const BadNode& node = *analysis.last_node;
  const BadLink& link = *analysis.last_link;
  return text + " The worst are node " + measured.nodes[node.node] + ", " +
         Amount(measured, std::max(0.0, node.deficit), 1) + Below(measured) +
         "the median node, and link " + PairName(measured, link.from, link.to, link.one_way) +
         ", " + Amount(measured, std::max(0.0, link.deficit), 1) + Below(measured) +
         "what both nodes reach elsewhere.";
}

// What the noise hides, where that is more than was asked for.
std::string NoiseText(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  constexpr double kNoticeable = 1.01;
  if (analysis.additive || !analysis.last_link ||
      analysis.link_limit < kNoticeable * measured.threshold) {
    return "";
  }
  return "Pairs scatter by " + Percent(analysis.noise, 1) + ", so that a node is named from " +
         Percent(analysis.node_limit, 0) + " on and a link from " +
         Percent(analysis.link_limit, 0) +
         " on only; more `repetitions` in the campaign tell smaller ones.";
}

std::string NodeAdvice(NodeSide side) {
  const std::string when = side == NodeSide::kSending     ? " when it sends"
                           : side == NodeSide::kReceiving ? " when it receives"
                                                          : "";
  return "its cable, switch port or network card, or what else runs on it. It is bad with the "
         "others" +
         when + "; they are fine without it";
}

constexpr char kDeadAdvice[] =
    "whether it is up and lets the others in, by the reason above. It fails with the others; they "
    "work without it";
constexpr char kLinkAdvice[] =
    "what lies between these two alone: a direct cable, or a path between their switches. Both are "
    "fine with the others";
constexpr char kFailedAdvice[] = "the reason above, then what lies between these two alone";

// Of one case: names and advice.
std::vector<std::pair<std::string, std::string>> SuspectsOf(const PairCase& measured) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const DeadNode& dead : measured.dead) {
    found.emplace_back(NodeName(measured, dead.node), kDeadAdvice);
  }
  for (const BadNode& bad : measured.analysis.nodes) {
    found.emplace_back(NodeName(measured, bad.node), NodeAdvice(bad.side));
  }
  const auto add_link = [&](size_t from, size_t to, const std::string& advice) {
    const auto [a, b] = std::minmax(from, to);
    found.emplace_back(LinkName(measured, a, b), advice);
  };
  for (const BadLink& bad : measured.analysis.links) {
    const bool turned = CellBetween(measured, bad.to, bad.from) != nullptr;
    add_link(bad.from, bad.to,
             kLinkAdvice + (bad.one_way && turned ? "; it is bad from " + measured.nodes[bad.from] +
                                                        " to " + measured.nodes[bad.to] + " alone"
                                                  : ""));
  }
  for (const PairFailure& failure : measured.failures) {
    const bool alone = DeadOf(measured, failure.from, failure.to) == nullptr;
    if (failure.kind == PairFailureKind::kUnsupported) continue;
    if (alone) add_link(failure.from, failure.to, kFailedAdvice);
  }
  return found;
}

}  // namespace

std::string PairName(const PairCase& measured, size_t from, size_t to, bool one_way) {
  return measured.nodes[from] + (one_way ? " to " : "-") + measured.nodes[to];
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
  if (!analysis.judged) {
    const std::string text = NotJudged(measured);
    if (!text.empty()) findings.push_back(text);
    AddMissing(measured, findings);
    return findings;
  }
  for (const size_t node : analysis.unjudged_nodes) {
    findings.push_back("node " + measured.nodes[node] +
                       ": not judged, for fewer than three of its links were measured");
  }
  if (!anything) findings.push_back(NothingFound(measured));
  const std::string noise = NoiseText(measured);
  if (!noise.empty()) findings.push_back(noise);
  AddMissing(measured, findings);
  return findings;
}

std::vector<PairSuspect> PairSuspects(const std::vector<PairCase>& cases) {
  std::vector<PairSuspect> suspects;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const auto& [name, advice] : SuspectsOf(cases[i])) {
      auto known = std::find_if(suspects.begin(), suspects.end(),
                                [&, wanted = name](const auto& one) { return one.name == wanted; });
      if (known == suspects.end()) known = suspects.insert(suspects.end(), {name, advice, {}});
      if (known->cases.empty() || known->cases.back() != i) known->cases.push_back(i);
    }
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const auto& a, const auto& b) {
    const bool a_node = a.name.starts_with("node ");
    if (a_node != b.name.starts_with("node ")) return a_node;
    return a.cases.size() > b.cases.size();
  });
  return suspects;
}

bool AnyBad(const PairCase& measured) { return !SuspectsOf(measured).empty(); }

}  // namespace assay::cli
