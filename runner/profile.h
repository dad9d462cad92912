// Kernel names and hardware counters of a case, from separate runs after the timed ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/gpu_platform.h"
#include "kernels/benchmark.h"

namespace assay {

// A case that has been timed and verified, on one GPU. Not owned.
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

// One way to read counters. `name` is CounterReport::source.
struct CounterSource {
  std::string name;
  std::function<Result<CounterReport>()> read;
};

// CUPTI's hardware counters first, then averages of NVML's monitors. CUPTI has more counters, but
// many machines allow it to administrators only.
std::vector<CounterSource> SourcesFor(const ProfiledCase& profiled);

// Reads counters from the first of `sources` that has any. The report's reason says why the earlier
// ones had none. If no source works, the report's source is "analytic" and its reason names the
// bytes that the benchmark declares (`work`).
CounterReport ReadCounters(const std::vector<CounterSource>& sources, const Work& work);

// UNAVAILABLE (GPU_CONTEXT_LOST) if CUDA refuses work after a step of profiling, such as "reading
// counters". The error blames the step, because the case itself has been verified.
Status ContextAfter(const std::string& step, const ProfiledCase& profiled);

}  // namespace assay
