// Decides which failure ends an attempt to run a job, and which nodes are at fault. The agents only
// report what they observed; they do not decide which node is at fault.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "coordinator/core/attempts/gang_wait.h"

namespace assay::coordinator {

// The evidence about one node of an attempt after an agent has reported a failure.
struct NodeEvidence {
  std::string node_id;
  std::string name;
  bool heard = false;  // The agent has mentioned the job to this process.
  bool lost = false;   // The agent has left or is silent, and the coordinator was present.
  std::optional<v1::Failure> failure;  // What the agent reported.
  bool finished = false;               // The agent reported its end without failure.
};

struct Evidence {
  std::vector<NodeEvidence> nodes;  // In rank order; each runs the same number of ranks.
  int world_size = 1;
  // Set if, as far as this process knows, the gang has not started because it waits for nodes.
  std::optional<GangWait> wait;
  // False if this process was absent, because nodes that seem late may have reported in that time.
  bool silence_counts = true;
};

struct Blame {
  v1::Failure failure;  // Its text is complete. Its node_id is the first node at fault.
  std::vector<std::string> also_at_fault;
};

// Decides which failure ends an attempt to run a job and which nodes are at fault. At least one
// node must have reported a failure. Prefers a cause reported by an agent, then a lost agent, then
// a lost connection. Returns nullopt if missing reports may still reveal the cause, unless
// `last_call` is true.
std::optional<Blame> DecideBlame(const Evidence& evidence, bool last_call);

// Returns the failure AGENT_LOST, which blames this node.
v1::Failure AgentLost(const std::string& node_id, std::string message);

}  // namespace assay::coordinator
