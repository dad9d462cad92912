#include "kernels/runner/node_fault.h"

#include <cstdint>
#include <string>

namespace assay {
namespace {

// Rounded up: "1 MiB" is less than that, but not nothing.
std::string FormatMebibytes(int64_t bytes) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  return std::to_string((bytes + kMebi - 1) / kMebi) + " MiB";
}

}  // namespace

Status NodeFault(const Status& failure, const GpuTrouble& trouble) {
  if (failure.ok()) return Status::Ok();
  const auto fault = [&](const char* reason, const std::string& what) {
    const std::string seen = trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")";
    return Unavailable(what + seen + "; the case ended with: " + failure.message(), reason);
  };
  if (trouble.lost || failure.reason() == "GPU_LOST") return fault("GPU_LOST", "the GPU is lost");
  if (failure.reason() == "GPU_UNAVAILABLE" && trouble.other_processes > 0) {
    return fault("GPU_BUSY", "the GPU runs another's job");
  }
  const bool short_of_theirs =
      trouble.missing_bytes > 0 && trouble.other_bytes >= trouble.missing_bytes;
  if (failure.reason() == "OUT_OF_MEMORY" && short_of_theirs) {
    return fault("GPU_BUSY", "other processes hold " + FormatMebibytes(trouble.other_bytes) +
                                 " of the GPU's memory, of which " +
                                 FormatMebibytes(trouble.missing_bytes) + " would have sufficed");
  }
  if (trouble.context_broken) return fault("GPU_CONTEXT_LOST", "CUDA refuses further work");
  return Status::Ok();
}

Status CheckGpusUsable(GpuPlatform* platform) {
  if (platform == nullptr || !platform->Gpus().empty()) return Status::Ok();
  const GpuTrouble trouble = platform->TroubleOf(0);
  return trouble.lost ? Unavailable(trouble.evidence, "GPU_UNUSABLE") : Status::Ok();
}

}  // namespace assay
