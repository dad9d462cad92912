#include "agent/core/runner_abort.h"

#include <cstddef>
#include <string>

namespace assay::agent {
namespace {

constexpr size_t kMaxReasonBytes = 64;
constexpr size_t kMaxMessageBytes = 16 << 10;
// As long as a runner's output that is kept.
constexpr size_t kMaxEvidenceBytes = 64 << 10;

}  // namespace

bool MayAbortWith(const v1::Failure& failure, bool gang) {
  const std::string& reason = failure.reason();
  if (reason.size() > kMaxReasonBytes || failure.message().size() > kMaxMessageBytes ||
      failure.evidence().size() > kMaxEvidenceBytes) {
    return false;
  }
  switch (failure.failure_class()) {
    case v1::FAILURE_CLASS_NODE:
      return reason.rfind("GPU_", 0) == 0 || (gang && reason == "ADDRESS_UNUSABLE");
    case v1::FAILURE_CLASS_JOB:
      return reason.rfind("GPU_", 0) == 0;
    case v1::FAILURE_CLASS_INFRASTRUCTURE:
      return gang && (reason == "PEER_LOST" || reason == "PEER_TIMEOUT");
    case v1::FAILURE_CLASS_USER:
      return gang && (reason == "VERSION_MISMATCH" || reason == "MIXED_GPUS");
    default:
      return false;
  }
}

}  // namespace assay::agent
