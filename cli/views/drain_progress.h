// Follows the drain of a node. No I/O.
#pragma once

#include <string>

#include "assay/v1/node_service.pb.h"
#include "common/clock.h"

namespace assay::cli {

class DrainProgress {
 public:
  // The time that the coordinator may take after the deadline to stop the jobs.
  static constexpr Duration kGrace = std::chrono::seconds(60);

  // The coordinator stops jobs that still run after `deadline`.
  explicit DrainProgress(Duration deadline) : deadline_(deadline) {}

  enum class End { kNone, kEmpty, kFailed };
  struct Step {
    std::string line;  // Printable. Empty if nothing has changed.
    End end = End::kNone;
  };
  // Returns a message about the node's state at `elapsed`, the time since the drain began.
  Step Apply(const v1::Node& node, Duration elapsed);

 private:
  const Duration deadline_;
  std::string said_;
  bool ran_jobs_ = false;
};

}  // namespace assay::cli
