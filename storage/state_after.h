// The state of a job after an attempt.
#pragma once

#include "storage/types.h"

namespace assay::storage {

inline v1::JobState StateAfter(Disposition disposition) {
  switch (disposition) {
    case Disposition::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case Disposition::kFailed:
      return v1::JOB_STATE_FAILED;
    case Disposition::kSkipped:
      return v1::JOB_STATE_SKIPPED;
    case Disposition::kCancelled:
      return v1::JOB_STATE_CANCELLED;
    case Disposition::kRequeue:
      break;
  }
  return v1::JOB_STATE_QUEUED;
}

}  // namespace assay::storage
