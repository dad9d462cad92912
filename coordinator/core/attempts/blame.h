// Decides which failure ends an attempt to run a job, and which nodes are at fault. Agents only
// report what they observed. All decisions about blame are made here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "coordinator/core/placement/gang_wait.h"

namespace assay::coordinator {

// The evidence about one node of an attempt after an agent has reported a failure.
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
  // False if this process was absent, because late nodes may have reported meanwhile.
  bool silence_counts = true;
};

struct Blame {
  v1::Failure failure;  // Its text is complete. Its node_id is the first node at fault.
  std::vector<std::string> also_at_fault;
};

// Decides which failure ends an attempt and which nodes are at fault. Returns nullopt if reports
// that have not arrived yet may show the cause; with `last_call` it always decides. At least one
// node must have reported a failure. The first of these applies: a cause that an agent reports, a
// lost agent, a missed start, a frozen rank, silent hosts, a lost connection. blame.cc explains
// each.
std::optional<Blame> DecideBlame(const Evidence& evidence, bool last_call);

// Returns the failure AGENT_LOST, which blames this node.
v1::Failure AgentLost(const std::string& node_id, std::string message);

}  // namespace assay::coordinator
