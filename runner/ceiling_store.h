// Measured ceilings of GPUs, probed once per day and reused.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "common/clock.h"
#include "host/gpu_platform.h"
#include "kernels/benchmark.h"
#include "runner/measurement_cache.h"

namespace assay {

// Used by one thread.
class CeilingStore {
 public:
  // A ceiling older than this is measured again.
  static constexpr Duration kMaxAge = std::chrono::hours(24);

  // `platform` and `clock` outlive the store. `folder`: see MeasurementCache.
  CeilingStore(GpuPlatform* platform, std::string folder, Clock* clock = &Clock::Real());

  // The ceilings that bound `work` on `gpu`: that of its memory for Work::traffic, that of its
  // arithmetic for Work::peak, each if the work has any of it. Probes those that are not known
  // for this GPU with its present driver, power limit and libraries. A probe needs up to 2 GiB of
  // GPU memory and up to a second. Ceilings that cannot be measured are absent.
  Ceilings For(const LocalGpu& gpu, const Work& work);

 private:
  std::optional<double> Find(const LocalGpu& gpu, const std::string& kind);
  std::string OwnerOf(const LocalGpu& gpu) const;

  GpuPlatform* const platform_;
  MeasurementCache cache_;
  std::set<std::string> absent_;  // Owner and kind of ceilings that have no probe.
};

// The store of this process, over the GPUs of this build; null if built without CUDA.
CeilingStore* ProcessCeilings();

}  // namespace assay
