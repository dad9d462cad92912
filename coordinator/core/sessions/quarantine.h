// Frees quarantined nodes that pass a check.
#pragma once

#include <map>
#include <string>

#include "assay/v1/session.pb.h"
#include "common/mutex.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Asks the agents of quarantined nodes to check themselves, and ends the quarantine of those that
// pass. A node that is quarantined again soon after it passed waits twice as long for each further
// check, but is checked at once when its agent has been restarted. Storage decides which nodes are
// quarantined (see storage::FinishedAttempt). Thread-safe.
class Quarantine {
 public:
  Quarantine(const Environment& environment, const Sessions& sessions)
      : environment_(environment), sessions_(sessions) {}

  // Sends CheckNode to the quarantined nodes whose check is due. Call it in every poll.
  Status CheckDue();
  // Returns true once for each CheckNode that was sent to the node. A result without one is
  // ignored.
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
