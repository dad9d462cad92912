#include "kernels/runner/node_fault.h"

namespace assay {

Status NodeFault(const Status& failure, const GpuTrouble& trouble) {
  if (failure.ok()) return Status::Ok();
  const auto fault = [&](const char* reason, const std::string& what) {
    const std::string seen = trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")";
    return Unavailable(what + seen + "; the case ended with: " + failure.message(), reason);
  };
  if (trouble.lost || failure.reason() == "GPU_LOST") return fault("GPU_LOST", "the GPU is lost");
  const bool refused = failure.reason() == "OUT_OF_MEMORY" || failure.reason() == "GPU_UNAVAILABLE";
  if (refused && trouble.other_processes > 0) {
    return fault("GPU_BUSY", "the GPU runs another's job");
  }
  if (trouble.context_broken) return fault("GPU_CONTEXT_LOST", "CUDA refuses further work");
  return Status::Ok();
}

}  // namespace assay
