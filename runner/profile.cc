#include "runner/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace assay {
namespace {

// The duration, in seconds, of a run for reading hardware counters. The counters also cover the
// start and end of the run, but in such a long run, this changes the measured rates by less than
// 1%.
constexpr double kPassSeconds = 20e-3;
constexpr int64_t kMostProfiledIterations = 2000;
// The time, in seconds, for which to keep the GPU busy while reading NVML. Must be longer than the
// hundreds of milliseconds over which NVML averages.
constexpr double kMonitoredSeconds = 1.0;

int64_t IterationsOfPass(const ProfiledCase& profiled) {
  const double wanted = std::ceil(kPassSeconds / std::max(profiled.iteration_seconds, 1e-9));
  const auto iterations =
      static_cast<int64_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostProfiledIterations)));
  const int64_t granularity = std::max<int64_t>(profiled.prepared.BatchGranularity(), 1);
  return (iterations + granularity - 1) / granularity * granularity;
}

// Keeps the GPU busy with iterations for kMonitoredSeconds.
Status KeepBusy(const ProfiledCase& profiled, int64_t iterations) {
  const MonotonicTime begin = profiled.clock.Now();
  do {
    ASSAY_RETURN_IF_ERROR(profiled.prepared.RunUntimed(iterations));
  } while (std::chrono::duration<double>(profiled.clock.Now() - begin).count() < kMonitoredSeconds);
  return Status::Ok();
}

std::string DeclaredText(const Work& work) {
  if (work.bytes <= 0) return "the benchmark declares no bytes of main memory";
  char text[96];
  std::snprintf(text, sizeof text, "the benchmark declares %.6g bytes read and written in all",
                work.bytes);
  return text;
}

// Returns a report that has no counters, for `reason`.
CounterReport Analytic(std::string reason) {
  CounterReport report;
  report.source = "analytic";
  report.reason = std::move(reason);
  return report;
}

}  // namespace

KernelNames KernelNamesOf(const ProfiledCase& profiled) {
  Result<std::vector<std::string>> names = profiled.platform.KernelNames(profiled.gpu, [&profiled] {
    return profiled.prepared.RunUntimed(profiled.prepared.BatchGranularity());
  });
  if (names.ok()) return {std::move(names).value(), ""};
  const Status& why = names.status();
  return {{}, why.message() + (why.hint().empty() ? "" : "; " + why.hint())};
}

Status ContextAfter(const std::string& step, const ProfiledCase& profiled) {
  const GpuTrouble trouble = profiled.platform.TroubleOf(profiled.gpu);
  if (!trouble.context_broken) return Status::Ok();
  return Unavailable(step + " broke the CUDA context" +
                         (trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")") +
                         " after the case had been timed and verified",
                     Reason::kGpuContextLost);
}

CounterReport ReadCounters(const ProfiledCase* profiled, const Work& work) {
  if (profiled == nullptr) {
    return Analytic("counters are read for cases on one GPU; " + DeclaredText(work));
  }
  const int64_t iterations = IterationsOfPass(*profiled);
  Result<CounterReport> counters = profiled->platform.HardwareCounters(
      profiled->gpu, iterations,
      [profiled, iterations] { return profiled->prepared.RunUntimed(iterations); });
  if (counters.ok()) {
    counters->source = "cupti";
    return std::move(counters).value();
  }
  const std::string no_cupti = "cupti: " + counters.status().message();
  Result<CounterReport> monitored = profiled->platform.MonitorDuring(
      profiled->gpu, [profiled, iterations] { return KeepBusy(*profiled, iterations); });
  if (monitored.ok()) {
    monitored->source = "nvml_gpm";
    monitored->reason = no_cupti;
    return std::move(monitored).value();
  }
  return Analytic(no_cupti + "; nvml_gpm: " + monitored.status().message() + "; " +
                  DeclaredText(work));
}

}  // namespace assay
