#include "agent/core/runner_abort.h"

#include <cstddef>

#include "wire/reasons.h"

namespace assay::agent {
namespace {

constexpr size_t kMaxMessageBytes = 16 << 10;
// As long as a runner's output that is kept.
constexpr size_t kMaxEvidenceBytes = 64 << 10;

}  // namespace

bool MayAbortWith(const v1::Failure& failure, bool gang) {
  if (failure.message().size() > kMaxMessageBytes ||
      failure.evidence().size() > kMaxEvidenceBytes) {
    return false;
  }
  switch (failure.reason()) {
    case v1::REASON_GPU_LOST:
    case v1::REASON_GPU_BUSY:
    case v1::REASON_GPU_UNUSABLE:
    case v1::REASON_GPU_CONTEXT_LOST:
      return true;
    case v1::REASON_ADDRESS_UNUSABLE:
    case v1::REASON_VERSION_MISMATCH:
    case v1::REASON_MIXED_GPUS:
      return gang;
    default:
      return gang && IsPeerLoss(failure.reason());
  }
}

}  // namespace assay::agent
