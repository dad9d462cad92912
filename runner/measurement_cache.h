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

// Caches measured values in memory and, if a folder is given, on disk for later processes. A lost
// value only has to be measured again, so errors of the folder are printed to stderr and otherwise
// ignored. Not thread-safe, but several processes may share the folder.
class MeasurementCache {
 public:
  // Older values are forgotten, and so are the oldest ones beyond this number per owner.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  static constexpr size_t kMaxValues = 400;
  // A series, and a size in bytes for series that have several; otherwise 0.
  using Key = std::pair<std::string, double>;

  // An empty folder keeps values in the process only.
  explicit MeasurementCache(std::string folder, Clock* clock = &Clock::Real());

  // Returns the cached values of one owner that are not older than `max_age`. The owner is a text
  // that identifies the hardware and software on which the values were measured.
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

// Returns the ceilings, the highest rates measured on `gpu`, that limit `work`: the memory
// bandwidth for Work::traffic and the arithmetic rate for Work::peak. Uses cached values from the
// last 24 hours if driver, power limit and libraries are the same, and otherwise measures them.
// Each measurement needs up to 2 GiB of GPU memory and up to a second. A ceiling that cannot be
// measured is absent.
Ceilings CeilingsFor(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                     MeasurementCache& cache);

// A collective on one machine, for the alpha-beta model of its times.
struct LinkSeries {
  // Identifies the hardware and software of all ranks, in rank order: UUIDs of GPUs (or names of
  // hosts), driver, NCCL, and the NCCL_* environment variables of this process that affect it.
  std::string machine;
  // The case without its size: benchmark, version, and all parameters except "bytes".
  std::string name;

  // Fits the model to the cached times of all message sizes except `bytes`, the size to predict.
  // Returns nullopt if there are too few sizes for FitAlphaBeta.
  std::optional<AlphaBeta> Fit(double bytes, MeasurementCache& cache) const;

  // Adds a measured time. The newest one of a size counts.
  void Add(const SizedTime& measured, MeasurementCache& cache) const;
};

// Returns the series of cached times to which a collective's case belongs. `gpu` is the GPU of this
// rank, or null. All ranks of the gang must call this. After an error the gang cannot continue.
Result<LinkSeries> LinkSeriesOf(const BenchmarkInfo& info, const RunContext& context,
                                const LocalGpu* gpu);

// Returns S of the alpha-beta model in bytes; 0 if the work moves nothing over a link.
double LinkBytes(const Work& work);

}  // namespace assay
