// Ends the quarantine of nodes that pass a check.
#pragma once

#include <map>
#include <string>

#include "assay/v1/session.pb.h"
#include "common/mutex.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Checks quarantined nodes, that is, nodes whose jobs have failed one after another. Asks their
// agents to check themselves, and ends the quarantine of nodes that pass. The pause between checks
// of a node doubles each time, from 5 s to an hour, even if the node passes and is quarantined
// again. A restarted agent is asked immediately. Storage decides which nodes are quarantined (see
// storage::FinishedAttempt). Thread-safe.
class Quarantine {
 public:
  Quarantine(const Environment& environment, const Sessions& sessions)
      : environment_(environment), sessions_(sessions) {}

  // Sends CheckNode to the quarantined nodes whose check is due. Call it in every poll.
  Status CheckDue();
  // Returns true once for each CheckNode message sent to the node. If this returns false, the node
  // was not asked to check itself, and the caller must ignore the result of its check.
  bool WasAsked(const std::string& node_id);
  // Handles the result of a check that WasAsked() confirmed.
  Status Checked(const std::string& node_id, const v1::NodeChecked& checked);

 private:
  struct Record {
    MonotonicTime next_check{};
    std::string instance_id;  // Of the agent that was asked last.
    Duration pause{0};        // After the next check.
    bool asked = false;       // A check is under way.
  };

  const Environment& environment_;
  const Sessions& sessions_;
  Mutex mutex_;
  std::map<std::string, Record> records_ ASSAY_GUARDED_BY(mutex_);  // By node id.
};

}  // namespace assay::coordinator
