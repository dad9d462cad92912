// Decides which failure ends an attempt, and which nodes are at fault. Agents report what they
// saw; nothing else in the system assigns blame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "coordinator/core/placement/gang_wait.h"

namespace assay::coordinator {

// One node of an attempt, when an agent has reported a failure.
struct NodeEvidence {
  std::string node_id;
  std::string name;
  bool heard = false;  // The agent has spoken of the job to this process.
  bool lost = false;   // The agent has left or fallen silent, not for the coordinator's absence.
  std::optional<v1::Failure> failure;  // What the agent reported.
  bool finished = false;               // The agent reported its end without failure.
};

struct Evidence {
  std::vector<NodeEvidence> nodes;  // In rank order; each runs the same number of ranks.
  int world_size = 1;
  // Set while a gang's start waits for nodes, as far as this process knows.
  std::optional<GangWait> wait;
  // False after an absence of this process: late nodes may have spoken meanwhile.
  bool silence_counts = true;
};

struct Blame {
  v1::Failure failure;  // Its text is complete. Its node_id is the first node at fault.
  std::vector<std::string> also_at_fault;
};

// Returns the blame if the evidence shows the cause. Returns nullopt if reports that have not come
// yet may show it; with `last_call` it always decides. At least one node must have a failure.
//
// The first rule that applies decides:
//   1. An agent reports another cause than a lost peer: that failure. A job's timeout while nodes
//      were late blames those nodes, if the others were ready quickly.
//   2. An agent is lost: AGENT_LOST at its node.
//   3. The coordinator changed while the gang began, and not all nodes are known to have begun:
//      GANG_NOT_STARTED at no node.
//   4. A rank is frozen while its host answers: PEER_FROZEN at its node.
//   5. Hosts are silent or never connected. Rank 0 hears all ranks, so its report decides:
//      it hears other nodes              the silent node is at fault, else the missing one
//      it hears none of several          its own node is at fault
//      it hears none, and there is one   neither node is at fault
//   6. Two ranks lost each other, and nothing else is known: at no node.
std::optional<Blame> DecideBlame(const Evidence& evidence, bool last_call);

// AGENT_LOST at this node.
v1::Failure AgentLost(const std::string& node_id, std::string message);

}  // namespace assay::coordinator
