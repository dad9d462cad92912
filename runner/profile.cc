#include "runner/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace assay {
namespace {

// Length of a pass over the counters: its begin and end then change rates by less than 1%.
constexpr double kPassSeconds = 20e-3;
constexpr int64_t kMostIterations = 2000;
// NVML's monitors average over hundreds of milliseconds.
constexpr double kMonitoredSeconds = 1.0;

int64_t IterationsOfPass(const ProfiledCase& profiled) {
  const double wanted = std::ceil(kPassSeconds / std::max(profiled.iteration_seconds, 1e-9));
  const auto iterations =
      static_cast<int64_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostIterations)));
  const int64_t granularity = std::max<int64_t>(profiled.prepared.BatchGranularity(), 1);
  return (iterations + granularity - 1) / granularity * granularity;
}

// Runs iterations for kMonitoredSeconds.
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

}  // namespace

KernelNames KernelNamesOf(const ProfiledCase& profiled) {
  Result<std::vector<std::string>> names = profiled.platform.KernelNames(profiled.gpu, [&profiled] {
    return profiled.prepared.RunUntimed(profiled.prepared.BatchGranularity());
  });
  if (names.ok()) return {std::move(names).value(), ""};
  const Status& why = names.status();
  return {{}, why.message() + (why.hint().empty() ? "" : "; " + why.hint())};
}

std::vector<CounterSource> SourcesFor(const ProfiledCase& profiled) {
  const int64_t iterations = IterationsOfPass(profiled);
  return {{"cupti",
           [profiled, iterations] {
             return profiled.platform.HardwareCounters(profiled.gpu, iterations, [&] {
               return profiled.prepared.RunUntimed(iterations);
             });
           }},
          {"nvml_gpm", [profiled, iterations] {
             return profiled.platform.MonitorDuring(profiled.gpu,
                                                    [&] { return KeepBusy(profiled, iterations); });
           }}};
}

Status ContextAfter(const std::string& step, const ProfiledCase& profiled) {
  const GpuTrouble trouble = profiled.platform.TroubleOf(profiled.gpu);
  if (!trouble.context_broken) return Status::Ok();
  return Unavailable(step + " broke the CUDA context" +
                         (trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")") +
                         " after the case had been timed and verified",
                     Reason::kGpuContextLost);
}

CounterReport ReadCounters(const std::vector<CounterSource>& sources, const Work& work) {
  std::string reason;
  const auto because = [&reason](const std::string& why) {
    reason += (reason.empty() ? "" : "; ") + why;
  };
  for (const CounterSource& source : sources) {
    Result<CounterReport> read = source.read();
    if (read.ok()) {
      read->source = source.name;
      read->reason = reason;
      return std::move(read).value();
    }
    because(source.name + ": " + read.status().message());
  }
  if (sources.empty()) because("counters are read of cases on one GPU");
  because(DeclaredText(work));
  CounterReport analytic;
  analytic.source = "analytic";
  analytic.reason = reason;
  return analytic;
}

}  // namespace assay
