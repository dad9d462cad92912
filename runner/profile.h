// What the hardware tells of a case beside its times, in runs apart from the timed
// ones: the kernels that it launched, and counters.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/platform.h"
#include "kernels/benchmark.h"

namespace assay {

// A case that has been timed and verified, on one GPU. Not owned.
struct ProfiledCase {
  Case& prepared;
  GpuPlatform& platform;
  int gpu = 0;                   // CUDA's ordinal.
  double iteration_seconds = 0;  // As timed.
  Clock& clock;
};

// As CaseReport::kernels and kernels_reason.
struct KernelNames {
  std::vector<std::string> names;
  std::string reason;
};
KernelNames KernelNamesOf(const ProfiledCase& profiled);

// One way to counters, told apart by CounterReport::source.
struct CounterSource {
  std::string name;
  std::function<Result<CounterReport>()> read;
};

// The hardware's own counters, then averages of its monitors.
std::vector<CounterSource> SourcesFor(const ProfiledCase& profiled);

// The report of the first of `sources` that gives one; its reason says why those
// before it did not. If none does: "analytic", with nothing read, and the bytes that
// the benchmark declares (`work`) named in its reason.
CounterReport ReadCounters(const std::vector<CounterSource>& sources, const Work& work);

// OK if CUDA still takes work after `step` ("reading counters") of a profiled case; else
// UNAVAILABLE (GPU_CONTEXT_LOST) that blames the step: neither the case, which has been
// verified, nor the one after it did that.
Status ContextAfter(const std::string& step, const ProfiledCase& profiled);

}  // namespace assay
