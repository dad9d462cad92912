// What to look at, over all matrices of pairs.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "cli/views/pair_text.h"
#include "cli/views/pairs_view.h"

namespace assay::cli {
namespace {

constexpr char kDeadAdvice[] =
    "whether it is up and lets the others in, by the reason above. It fails with the others; they "
    "work without it";
constexpr char kLinkAdvice[] =
    "what lies between these two alone: a direct cable, or a path between their switches";
constexpr char kFailedAdvice[] = "the reason above, then what lies between these two alone";
constexpr char kEndAdvice[] = "the reason above, which tells nothing of what lies between the two";

// Whether the reason is of an end and not of the network between both.
bool IsOfAnEnd(const PairFailure& failure) {
  constexpr std::array<std::string_view, 14> kReasons = {
      "ADDRESS_UNUSABLE",    "AGENT_ERROR",      "AGENT_LOST",       "AGENT_STOPPED",
      "GANG_NOT_READY",      "GANG_NOT_STARTED", "LEASE_LOST",       "MIXED_GPUS",
      "OUT_OF_MEMORY",       "RUNNER_CRASHED",   "RUNNER_NOT_READY", "RUNNER_PROTOCOL",
      "RUNNER_SPAWN_FAILED", "VERSION_MISMATCH"};
  const std::string reason = failure.reason.substr(0, failure.reason.find(':'));
  return reason.starts_with("GPU_") ||
         std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

std::string NodeAdvice(NodeSide side) {
  const std::string when = side == NodeSide::kSending     ? " when it sends"
                           : side == NodeSide::kReceiving ? " when it receives"
                                                          : "";
  return "its cable, switch port or network card, or what else runs on it. It is bad with the "
         "others" +
         when + "; they are fine without it";
}

// What a case names, by the names of nodes, which cases have in common.
struct Suspect {
  std::string name;
  std::vector<std::string> nodes;  // One, or a link's two ends.
  std::string advice;
  bool is_bad_link = false;
  std::string one_way;  // "; it is bad from a to b alone"; empty for both directions.
};

std::vector<Suspect> SuspectsOf(const PairCase& measured) {
  std::vector<Suspect> found;
  const auto add_node = [&](size_t node, const std::string& advice) {
    found.push_back({NodeName(measured, node), {measured.nodes[node]}, advice, false, ""});
  };
  for (const DeadNode& dead : measured.dead) add_node(dead.node, kDeadAdvice);
  for (const BadNode& bad : measured.analysis.nodes) add_node(bad.node, NodeAdvice(bad.side));
  const auto add_link = [&](size_t from, size_t to, const char* advice) -> Suspect& {
    const auto [a, b] = std::minmax(from, to);
    return found.emplace_back(Suspect{
        LinkName(measured, a, b), {measured.nodes[a], measured.nodes[b]}, advice, false, ""});
  };
  for (const BadLink& bad : measured.analysis.links) {
    Suspect& link = add_link(bad.from, bad.to, kLinkAdvice);
    link.is_bad_link = true;
    if (bad.one_way && CellBetween(measured, bad.to, bad.from) != nullptr) {
      link.one_way = "; it is bad from " + measured.nodes[bad.from] + " to " +
                     measured.nodes[bad.to] + " alone";
    }
  }
  for (const PairFailure& failure : measured.failures) {
    const bool alone = DeadOf(measured, failure.from, failure.to) == nullptr;
    if (failure.kind == PairFailureKind::kUnsupported) continue;
    if (!alone) continue;
    add_link(failure.from, failure.to, IsOfAnEnd(failure) ? kEndAdvice : kFailedAdvice);
  }
  return found;
}

// What is named, or perhaps bad, with each node in any case: itself or its links.
using Troubles = std::map<std::string, std::set<std::string>>;

void AddTroubles(const PairCase& measured, Troubles& troubles) {
  for (const Suspect& suspect : SuspectsOf(measured)) {
    for (const std::string& node : suspect.nodes) troubles[node].insert(suspect.name);
  }
  for (const BadNode& one : measured.analysis.doubtful_nodes) {
    troubles[measured.nodes[one.node]].insert("perhaps " + NodeName(measured, one.node));
  }
  for (const BadLink& one : measured.analysis.doubtful_links) {
    const auto [a, b] = std::minmax(one.from, one.to);
    for (const size_t node : {a, b}) {
      troubles[measured.nodes[node]].insert(LinkName(measured, a, b));
    }
  }
}

// Only of ends that nothing else is named with may it be said that they are fine.
std::string AdviceOf(const Suspect& suspect, const Troubles& troubles) {
  if (!suspect.is_bad_link) return suspect.advice;
  std::string named;
  bool fine = true;
  for (const std::string& node : suspect.nodes) {
    const std::set<std::string>& trouble = troubles.at(node);
    fine = fine && trouble.size() == 1;
    if (trouble.count("node " + node) == 0) continue;
    named += (named.empty() ? "" : " and node ") + node;
  }
  if (fine) return suspect.advice + ". Both are fine with the others" + suspect.one_way;
  return suspect.advice + suspect.one_way +
         (named.empty() ? "" : ". Look first at node " + named + ", named too");
}

}  // namespace

std::vector<PairSuspect> PairSuspects(const std::vector<PairCase>& cases) {
  Troubles troubles;
  for (const PairCase& measured : cases) AddTroubles(measured, troubles);
  std::vector<PairSuspect> suspects;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Suspect& suspect : SuspectsOf(cases[i])) {
      auto known = std::find_if(suspects.begin(), suspects.end(),
                                [&](const auto& one) { return one.name == suspect.name; });
      if (known == suspects.end()) {
        known = suspects.insert(suspects.end(), {suspect.name, AdviceOf(suspect, troubles), {}});
      }
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
