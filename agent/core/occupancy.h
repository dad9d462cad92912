// Decides who may use this node for measurements: either the jobs of a coordinator or a single job
// that a user started with RunJob. The two never run at the same time, because they would disturb
// each other's measurements.
#pragma once

#include <functional>
#include <utility>

#include "common/mutex.h"

namespace assay::agent {

// The jobs that occupy this node. Thread-safe.
class Occupancy {
 public:
  // Enters a job of a coordinator. Several may run at once. Returns false while a direct job runs.
  bool TryEnterJob();
  void LeaveJob();
  // Enters a direct job. Returns false while any job runs.
  bool TryEnterDirect();
  void LeaveDirect();

  // Sets the callback for the end of a direct job (one that a user started with RunJob). It is
  // called on the thread that calls LeaveDirect(). Call this once, before using the object.
  void OnDirectLeft(std::function<void()> callback) { on_direct_left_ = std::move(callback); }

 private:
  std::function<void()> on_direct_left_;
  Mutex mutex_;
  int jobs_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool direct_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::agent
