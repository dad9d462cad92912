// Who measures on this node: the coordinator's jobs, or one job that somebody
// started by RunJob; never both, for each would spoil the other's numbers.
#pragma once

#include <functional>
#include <utility>

#include "common/mutex.h"

namespace assay::agent {

// Thread-safe.
class Occupancy {
 public:
  // Any number of the coordinator's jobs at once. False while a direct job runs.
  bool TryEnterJob();
  void LeaveJob();
  // One direct job. False while anything runs.
  bool TryEnterDirect();
  void LeaveDirect();

  // Called, on the leaving thread, when a direct job has left. Set once, before use.
  void OnDirectLeft(std::function<void()> callback) { on_direct_left_ = std::move(callback); }

 private:
  std::function<void()> on_direct_left_;
  Mutex mutex_;
  int jobs_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool direct_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::agent
