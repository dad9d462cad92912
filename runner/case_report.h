// The outcome of one case, as the runner knows it: what CaseResult says on the
// wire and what `assay-runner run` prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/benchmark.h"
#include "measure/statistics.h"
#include "host/platform.h"
#include "roofline/prediction.h"
#include "runner/rank_times.h"

namespace assay {

enum class Outcome { kOk, kFailed, kUnsupported };
std::string_view OutcomeName(Outcome outcome);  // "ok", "failed", "unsupported"

struct ReportedMetric {
  Metric metric;
  Summary summary;
  // In the order measured, in the metric's unit; only the primary metric has them.
  std::vector<double> samples;
};

// What produced the result, as far as the runner can tell; part of its identity.
struct ReportedEnvironment {
  std::string gpu_model;        // Sheet's name if known, else the device's.
  std::string gpu_form_factor;  // "SXM", "PCIe" or empty.
  int gpu_count = 0;
  std::string topology;  // "single", "nvlink", "pcie", "network", "none".
  std::optional<double> power_limit_watts;
  std::optional<bool> ecc_enabled;
  std::string cpu_model;  // Only where the CPU is what is measured, or its network.
  LinkedSoftware software;
};

struct CaseReport {
  Outcome outcome = Outcome::kFailed;
  Status error;             // Why the outcome is not kOk.
  std::string library_log;  // Of a gang that failed: LibraryLog().
  std::string benchmark;
  int version = 0;
  ParameterMap parameters;
  std::vector<ReportedMetric> metrics;  // The primary first; empty unless kOk.
  Timing timing;
  MeasuredTimes times;                  // Without its samples: they are in metrics.
  std::optional<Verdict> verification;  // The last one made.
  Prediction prediction;
  WindowConditions conditions;
  std::vector<std::string> kernels;  // Names of an iteration's GPU kernels.
  std::string kernels_reason;        // Why they could not be recorded; empty if they were.
  std::optional<CounterReport> counters;
  GangReport gang;  // Empty without a gang.
  // Why this process can run no further case, although this one was timed and verified:
  // what watched it afterwards broke the GPU's context. OK otherwise.
  Status aftermath;
  ReportedEnvironment environment;
  WallTime start_time{};
  WallTime end_time{};
};

}  // namespace assay
