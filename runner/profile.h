// Kernel names and hardware counters of a case, from separate runs after the timed ones.
#pragma once

#include <string>
#include <vector>

#include "host/gpu_platform.h"
#include "kernels/benchmark.h"

namespace assay {

// A case on one GPU that has been timed and verified. Owns nothing.
struct ProfiledCase {
  Case& prepared;
  GpuPlatform& platform;
  int gpu = 0;                   // CUDA's ordinal.
  double iteration_seconds = 0;  // The measured median.
  Clock& clock;
};

// The kernels of one iteration in order of their first launch, or the reason why they are unknown.
struct KernelNames {
  std::vector<std::string> names;
  std::string reason;
};
KernelNames KernelNamesOf(const ProfiledCase& profiled);

// Reads counters from CUPTI, or else averages from NVML's monitors. CUPTI has more counters, but
// many machines allow it to administrators only. The report's reason says why an earlier source had
// none. If no source works, the report's source is "analytic" and its reason names the bytes that
// the benchmark declares (`work`). `profiled` is null for a case that is not on one GPU.
CounterReport ReadCounters(const ProfiledCase* profiled, const Work& work);

// Returns UNAVAILABLE (GPU_CONTEXT_LOST) if CUDA refuses work after a step of profiling, such as
// "reading counters". The error blames the step, because the case itself has been verified.
Status ContextAfter(const std::string& step, const ProfiledCase& profiled);

}  // namespace assay
