// Predicts collectives from this machine's own earlier times of other sizes.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "host/gpu_platform.h"
#include "kernels/benchmark.h"
#include "roofline/alpha_beta.h"
#include "runner/measurement_cache.h"

namespace assay {

// Used by one thread.
class LinkModelStore {
 public:
  // Older times no longer count, and the oldest beyond kMaxPoints per machine neither.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  static constexpr size_t kMaxPoints = 400;

  // `folder`: see MeasurementCache.
  explicit LinkModelStore(std::string folder, Clock* clock = &Clock::Real());

  // The model of `series` on `machine`, fitted to the times of all sizes except `bytes`, which it
  // is to predict. Absent as long as FitAlphaBeta has too few sizes. `machine` identifies the
  // hardware and software of all ranks, `series` the case without its size.
  std::optional<AlphaBeta> Fit(const std::string& machine, const std::string& series, double bytes);

  // Adds a measured time. The newest one of a machine, series and size counts.
  void Add(const std::string& machine, const std::string& series, const SizedTime& measured);

 private:
  MeasurementCache cache_;
};

// The store of this process.
LinkModelStore& ProcessLinkModels();

// S of the alpha-beta model in bytes; 0 if the work moves nothing over a link.
double LinkBytes(const Work& work);

// The case without its size: benchmark, version, and all parameters except "bytes".
std::string LinkSeries(const BenchmarkInfo& info, const ParameterMap& parameters);

// The hardware and software of all ranks in rank order: UUIDs of GPUs (or names of hosts), driver,
// NCCL, and the NCCL_* variables of this process that steer it. `gpu` is this rank's; null: none.
// All ranks of a gang call it; an error ends the gang.
Result<std::string> LinkMachine(Peers* peers, const LocalGpu* gpu, const RunContext& context);

}  // namespace assay
