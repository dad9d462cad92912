// Kernel names and hardware counters of a case, from separate runs after the timed ones.
#pragma once

#include <string>
#include <vector>

#include "host/gpu_platform.h"
#include "kernels/benchmark.h"

namespace assay {

// A case on one GPU that has been timed and verified. Does not own the objects that it refers to.
struct ProfiledCase {
  Case& prepared;
  GpuPlatform& platform;
  int gpu = 0;                   // CUDA's ordinal.
  double iteration_seconds = 0;  // The measured median.
  Clock& clock;
};

// The names of the GPU kernels that one iteration runs, in order of their first launch, or the
// reason why they are unknown.
struct KernelNames {
  std::vector<std::string> names;
  std::string reason;
};
KernelNames KernelNamesOf(const ProfiledCase& profiled);

// Reads the hardware counters of a case from CUPTI, NVIDIA's profiling library, which many machines
// restrict to administrators. If that fails, uses averages from NVML, which has fewer counters, and
// the report's reason says why CUPTI failed. If both fail, the report's source is "analytic", and
// its reason says why and gives the number of bytes that the benchmark declares in `work`.
// `profiled` is null unless the case runs on a single GPU.
CounterReport ReadCounters(const ProfiledCase* profiled, const Work& work);

// Checks that the GPU can still be used after a profiling step. If CUDA refuses further work,
// returns UNAVAILABLE (GPU_CONTEXT_LOST). The error names the step, such as "reading counters", and
// does not blame the case, which has already been verified.
Status ContextAfter(const std::string& step, const ProfiledCase& profiled);

}  // namespace assay
