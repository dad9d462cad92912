#include "agent/core/occupancy.h"

namespace assay::agent {

bool Occupancy::TryEnterJob() {
  MutexLock lock(mutex_);
  if (direct_) return false;
  ++jobs_;
  return true;
}

void Occupancy::LeaveJob() {
  MutexLock lock(mutex_);
  --jobs_;
}

bool Occupancy::TryEnterDirect() {
  MutexLock lock(mutex_);
  if (direct_ || jobs_ > 0) return false;
  direct_ = true;
  return true;
}

void Occupancy::LeaveDirect() {
  {
    MutexLock lock(mutex_);
    direct_ = false;
  }
  if (on_direct_left_) on_direct_left_();
}

}  // namespace assay::agent
