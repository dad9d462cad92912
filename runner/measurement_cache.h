// Measurements of this machine that later cases need: ceilings of GPUs, and times of collectives.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "host/gpu_platform.h"
#include "kernels/benchmark.h"
#include "roofline/alpha_beta.h"

namespace assay {

// Keeps measurements in the process and, given a folder, between processes. Losing them costs
// time but no result, so errors of the folder are printed to stderr and otherwise ignored.
// Used by one thread; several processes may share the folder.
class MeasurementCache {
 public:
  // Older values are forgotten, and so are the oldest ones beyond this number per owner.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  static constexpr size_t kMaxValues = 400;
  // A series, and a size in bytes for series that have several; otherwise 0.
  using Key = std::pair<std::string, double>;

  // An empty folder keeps values in the process only.
  explicit MeasurementCache(std::string folder, Clock* clock = &Clock::Real());

  // Returns the values of one owner that are not older than `max_age`. The owner is a text that
  // identifies hardware and software.
  std::map<Key, double> Find(const std::string& owner, Duration max_age = kMaxAge);

  // Stores a positive value; replaces an older one of the same key.
  void Add(const std::string& owner, const Key& key, double value);

 private:
  struct Entry {
    double value = 0;
    WallTime measured_at{};
  };
  using Entries = std::map<Key, Entry>;

  // Returns the entries in memory and in the owner's file, without those to forget.
  Entries& Load(const std::string& owner);
  std::string PathOf(const std::string& owner) const;

  const std::string folder_;
  Clock* const clock_;
  std::map<std::string, Entries> known_;  // By owner.
};

// Returns the cache of this process, in the folder that the variable ASSAY_CACHE_DIR names.
MeasurementCache& ProcessCache();

// Returns the ceilings that bound `work` on `gpu`: that of its memory for Work::traffic and that of
// its arithmetic for Work::peak, each if the work has any of it. Measures those that were not
// measured in the last 24 hours on this GPU with its present driver, power limit and libraries. A
// probe needs up to 2 GiB of GPU memory and up to a second. Ceilings that cannot be measured are
// absent.
Ceilings CeilingsFor(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                     MeasurementCache& cache);

// A collective on one machine, for the alpha-beta model of its times.
struct LinkSeries {
  // The hardware and software of all ranks in rank order: UUIDs of GPUs (or names of hosts),
  // driver, NCCL, and the NCCL_* variables of this process that steer it.
  std::string machine;
  // The case without its size: benchmark, version, and all parameters except "bytes".
  std::string name;

  // Returns the model fitted to the times of all sizes except `bytes`, which it is to predict.
  // Absent as long as FitAlphaBeta has too few sizes.
  std::optional<AlphaBeta> Fit(double bytes, MeasurementCache& cache) const;

  // Adds a measured time. The newest one of a size counts.
  void Add(const SizedTime& measured, MeasurementCache& cache) const;
};

// Returns the series of a case. `gpu` is this rank's; null if it has none. All ranks of a gang must
// call it; an error ends the gang.
Result<LinkSeries> LinkSeriesOf(const BenchmarkInfo& info, const RunContext& context,
                                const LocalGpu* gpu);

// Returns S of the alpha-beta model in bytes; 0 if the work moves nothing over a link.
double LinkBytes(const Work& work);

}  // namespace assay
