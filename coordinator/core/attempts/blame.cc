#include "coordinator/core/attempts/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/text.h"
#include "common/units.h"
#include "wire/durations.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using Ranks = google::protobuf::RepeatedField<int32_t>;

class Decision {
 public:
  explicit Decision(const Evidence& evidence)
      : evidence_(evidence),
        ranks_per_node_(evidence.world_size /
                        std::max(1, static_cast<int>(evidence.nodes.size()))) {}

  std::optional<Blame> Decide(bool last_call) const {
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.failure && !IsPeerLoss(node.failure->reason())) return OfCause(*node.failure);
    }
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.lost && !node.failure) return OfLostAgent(node);
    }
    if (MayHaveMissedTheStart()) return OfMissedStart();
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.failure && IsFrozen(*node.failure)) return OfFrozenRank(*node.failure);
    }
    // Prefer the report of rank 0, because only rank 0 has a connection to every other rank.
    const NodeEvidence& first = evidence_.nodes.front();
    const bool all_reported =
        std::all_of(evidence_.nodes.begin(), evidence_.nodes.end(),
                    [](const NodeEvidence& node) { return node.failure || node.finished; });
    if (first.failure) {
      std::optional<Blame> silent = OfSilentHosts(*first.failure);
      if (silent && (last_call || all_reported || !silent->failure.node_id().empty())) {
        return silent;
      }
    }
    if (!last_call && !all_reported) return std::nullopt;
    return OfLostPeer(MostInformative());
  }

 private:
  using NodeSet = std::set<size_t>;  // Positions in evidence_.nodes.

  // Handles a failure that is more than a lost connection between two processes of the job. Usually
  // returns the failure as reported by the agent. However, if the job timed out because some nodes
  // were late, although the others were ready quickly, blames the late nodes.
  std::optional<Blame> OfCause(v1::Failure failure) const {
    Blame blame{std::move(failure), {}};
    const std::vector<std::string> late = LateNodes();
    const bool waited = blame.failure.reason() == v1::REASON_TIMEOUT ||
                        blame.failure.reason() == v1::REASON_GANG_NOT_STARTED;
    if (late.empty() || !waited) return blame;
    const GangWait& wait = *evidence_.wait;
    blame.failure.set_message(blame.failure.message() + "; " + DescribeWait(wait));
    if (wait.adopted) {
      blame.failure.set_failure_class(v1::FAILURE_CLASS_INFRASTRUCTURE);
    } else if (blame.failure.reason() == v1::REASON_TIMEOUT && evidence_.silence_counts &&
               OthersWereQuick(wait)) {
      blame.failure.set_failure_class(v1::FAILURE_CLASS_NODE);
      blame.failure.set_node_id(late.front());
      blame.also_at_fault.assign(late.begin() + 1, late.end());
    }
    return blame;
  }

  // Blames the node of a lost agent.
  Blame OfLostAgent(const NodeEvidence& node) const {
    return {AgentLost(node.node_id, fmt::format("the agent of node {} is gone{}", node.name,
                                                ReportedBy(MostInformative()))),
            {}};
  }

  // Returns true if an earlier coordinator may have died while starting the job's nodes, so that
  // some of them were never started. In that case, a rank that reports a timeout may have been
  // waiting for one of these.
  bool MayHaveMissedTheStart() const {
    const bool waited = std::any_of(evidence_.nodes.begin(), evidence_.nodes.end(), [](auto& node) {
      return node.failure && node.failure->reason() != v1::REASON_PEER_LOST;
    });
    const bool unheard = std::any_of(evidence_.nodes.begin(), evidence_.nodes.end(),
                                     [](auto& node) { return !node.heard && !node.failure; });
    const bool late = evidence_.wait && evidence_.wait->adopted && !LateNodes().empty();
    return waited && (unheard || late);
  }

  // Blames no node, because the coordinator changed while the gang started.
  Blame OfMissedStart() const {
    const std::string what =
        evidence_.wait && !LateNodes().empty()
            ? DescribeWait(*evidence_.wait)
            : "the coordinator changed, and not all agents of the gang have spoken since: a rank "
              "may have missed the start";
    return {MakeFailure(v1::REASON_GANG_NOT_STARTED, what + ReportedBy(MostInformative())), {}};
  }

  // Returns true if the failure shows a frozen rank, and no host is silent.
  static bool IsFrozen(const v1::Failure& failure) {
    return failure.reason() == v1::REASON_PEER_FROZEN && failure.peer_loss().has_lost_rank() &&
           failure.peer_loss().silent_ranks().empty() && failure.peer_loss().absent_ranks().empty();
  }

  // Blames the node of a rank that is frozen although its host answers.
  Blame OfFrozenRank(const v1::Failure& report) const {
    const int rank = report.peer_loss().lost_rank();
    return AtNode(
        report, NodeOf(rank),
        fmt::format("{} has not answered{}, although its host has: its process is stopped, or its "
                    "host hangs",
                    RankText(rank), Silence(report)));
  }

  // Decides which node is at fault if other nodes have fallen silent or have never connected.
  // Returns nullopt if there are none. `report` usually comes from rank 0, which is connected to
  // all ranks.
  // - If rank 0 hears some of the other nodes, blames a silent node or, if no node is silent, a
  //   node that has never connected.
  // - If rank 0 hears none of several other nodes, usually blames its own node.
  // - If rank 0 does not hear the only other node, blames neither.
  std::optional<Blame> OfSilentHosts(const v1::Failure& report) const {
    const std::optional<size_t> own = NodeOf(report.rank());
    if (!own || evidence_.nodes.size() < 2) return std::nullopt;
    const v1::PeerLoss& loss = report.peer_loss();
    const NodeSet heard = NodesOf(loss.heard_ranks(), *own);
    NodeSet silent = NodesOf(loss.silent_ranks(), *own);
    NodeSet missing = NodesOf(loss.absent_ranks(), *own);
    // A host that answers for one of its ranks works, even if its other ranks are silent.
    for (const size_t node : heard) silent.erase(node), missing.erase(node);
    for (const size_t node : silent) missing.erase(node);
    if (silent.empty() && missing.empty()) return std::nullopt;
    const NodeSet& away = silent.empty() ? missing : silent;
    const v1::Reason reason =
        silent.empty() ? v1::REASON_PEER_TIMEOUT : v1::REASON_PEER_UNREACHABLE;
    v1::Failure failure = report;
    failure.set_reason(reason);
    const size_t others = evidence_.nodes.size() - 1;
    if (!heard.empty()) {
      return AtNode(failure, *away.begin(),
                    fmt::format("{} {}: node {} hears {} of the {} others", NamesOf(away),
                                silent.empty()     ? "did not join the gang"
                                : away.size() == 1 ? "is cut off from the gang"
                                                   : "are cut off from the gang",
                                NameOf(*own), heard.size(), others));
    }
    // Rank 0 hears no other node, so its own node is probably cut off. The exception is when only
    // one node has fallen silent and all others have never connected. Those may simply be late, so
    // do not blame the node of rank 0 in that case.
    const bool one_silent_one_late = silent.size() == 1 && !missing.empty();
    if (others > 1 && silent.size() + missing.size() == others && !one_silent_one_late) {
      return AtNode(failure, *own,
                    fmt::format("node {} is cut off from the gang: it hears none of the others",
                                NameOf(*own)));
    }
    const auto [lower, higher] = std::minmax(*own, *away.begin());
    return AtNode(failure, std::nullopt,
                  fmt::format("nodes {} and {} do not reach each other: either may be cut off",
                              NameOf(lower), NameOf(higher)));
  }

  // Blames no node, because two ranks have lost each other and nothing else is known.
  Blame OfLostPeer(const v1::Failure& report) const {
    if (std::optional<Blame> silent = OfSilentHosts(report)) return *std::move(silent);
    const v1::PeerLoss& loss = report.peer_loss();
    if (!loss.has_lost_rank()) return AtNode(report, std::nullopt, report.message());
    const char* const what = report.reason() == v1::REASON_PEER_LOST      ? "lost the connection to"
                             : report.reason() == v1::REASON_PEER_TIMEOUT ? "waited in vain for"
                                                                          : "does not reach";
    return AtNode(report, std::nullopt,
                  fmt::format("{} {} {}{}", RankText(loss.rank()), what, RankText(loss.lost_rank()),
                              Silence(report)));
  }

  // Returns the failure in `report` with its message replaced by `text` and the reporting rank.
  // Blames `node`, or no node if `node` is nullopt.
  Blame AtNode(v1::Failure report, std::optional<size_t> node, const std::string& text) const {
    report.set_message(text + ReportedBy(report));
    report.set_failure_class(node ? v1::FAILURE_CLASS_NODE : v1::FAILURE_CLASS_INFRASTRUCTURE);
    report.set_node_id(node ? evidence_.nodes[*node].node_id : "");
    return {std::move(report), {}};
  }

  // Returns the first report, in rank order, whose reason is not PEER_LOST. If there is none,
  // returns the first report. PEER_LOST reveals little, because it only means that the connection
  // to another rank was lost, usually after that rank had failed.
  const v1::Failure& MostInformative() const {
    const v1::Failure* best = nullptr;
    for (const NodeEvidence& node : evidence_.nodes) {
      if (!node.failure) continue;
      const bool better = best == nullptr || (best->reason() == v1::REASON_PEER_LOST &&
                                              node.failure->reason() != v1::REASON_PEER_LOST);
      if (better) best = &*node.failure;
    }
    return best == nullptr ? v1::Failure::default_instance() : *best;
  }

  std::vector<std::string> LateNodes() const {
    return evidence_.wait ? coordinator::LateNodes(*evidence_.wait) : std::vector<std::string>();
  }

  std::optional<size_t> NodeOf(int rank) const {
    if (rank < 0 || rank >= evidence_.world_size || ranks_per_node_ < 1) return std::nullopt;
    const auto node = static_cast<size_t>(rank / ranks_per_node_);
    return node < evidence_.nodes.size() ? std::optional(node) : std::nullopt;
  }

  NodeSet NodesOf(const Ranks& ranks, size_t own) const {
    NodeSet nodes;
    for (const int rank : ranks) {
      const std::optional<size_t> node = NodeOf(rank);
      if (node && *node != own) nodes.insert(*node);
    }
    return nodes;
  }

  const std::string& NameOf(size_t node) const { return evidence_.nodes[node].name; }

  // "node g2", "nodes g2, g3".
  std::string NamesOf(const NodeSet& nodes) const {
    std::vector<std::string> names;
    for (const size_t node : nodes) names.push_back(NameOf(node));
    return (names.size() == 1 ? "node " : "nodes ") + JoinSome(names);
  }

  // "rank 2 on node g3".
  std::string RankText(int rank) const {
    const std::optional<size_t> node = NodeOf(rank);
    const std::string text = fmt::format("rank {}", rank);
    return node ? text + " on node " + NameOf(*node) : text;
  }

  // " for 15.0s"; empty if it is not known.
  static std::string Silence(const v1::Failure& report) {
    const Duration silence = FromProto(report.peer_loss().silence());
    return silence <= Duration(0) ? "" : " for " + FormatDuration(silence);
  }

  // "; reported by rank 0 on node g1, last seen in: case 1 (bytes=1024), measure".
  std::string ReportedBy(const v1::Failure& report) const {
    std::string text;
    if (report.has_rank()) text = "; reported by " + RankText(report.rank());
    if (!report.last_phase().empty()) text += ", last seen in: " + report.last_phase();
    return text;
  }

  const Evidence& evidence_;
  const int ranks_per_node_;
};

}  // namespace

std::optional<Blame> DecideBlame(const Evidence& evidence, bool last_call) {
  return Decision(evidence).Decide(last_call);
}

v1::Failure AgentLost(const std::string& node_id, std::string message) {
  v1::Failure failure = MakeFailure(v1::REASON_AGENT_LOST, std::move(message));
  failure.set_node_id(node_id);
  return failure;
}

}  // namespace assay::coordinator
