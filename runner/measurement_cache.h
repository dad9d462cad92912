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

// A cache of measured values in memory and, if a folder is given, on disk for later processes. File
// errors are printed to stderr but otherwise ignored, because lost values can be measured again.
// Not thread-safe, but several processes may share the folder.
class MeasurementCache {
 public:
  // Limits of the cache. Values older than kMaxAge are removed. If an owner (the hardware and
  // software on which values were measured) has more than kMaxValues, its oldest are removed.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  static constexpr size_t kMaxValues = 400;
  // The name of a series, and a size in bytes. The size is 0 if the series has a single value.
  using Key = std::pair<std::string, double>;

  // If `folder` is empty, values are kept only in this process.
  explicit MeasurementCache(std::string folder, Clock* clock = &Clock::Real());

  // Returns the cached values of `owner` that are no older than `max_age`. `owner` identifies the
  // hardware and software on which the values were measured.
  std::map<Key, double> Find(const std::string& owner, Duration max_age = kMaxAge);

  // Stores a positive value. Replaces an earlier value with the same key.
  void Add(const std::string& owner, const Key& key, double value);

 private:
  struct Entry {
    double value = 0;
    WallTime measured_at{};
  };
  using Entries = std::map<Key, Entry>;

  // Returns the entries of one owner (the hardware and software on which they were measured), from
  // memory and from the owner's file. Removes entries that are too old, and the oldest if there are
  // too many.
  Entries& Load(const std::string& owner);
  std::string PathOf(const std::string& owner) const;

  const std::string folder_;
  Clock* const clock_;
  std::map<std::string, Entries> known_;  // By owner.
};

// Returns the cache of this process. Its folder is set by the environment variable ASSAY_CACHE_DIR;
// without it, values are kept in memory only.
MeasurementCache& ProcessCache();

// Returns the ceilings (the highest rates measured on `gpu`) that limit `work`: memory bandwidth
// for Work::traffic and arithmetic throughput for Work::peak. Uses cached values if they are at
// most 24 hours old and the driver, the power limit and the libraries have not changed. Otherwise
// measures them, which takes up to a second and up to 2 GiB of GPU memory per ceiling. A ceiling
// that cannot be measured is nullopt.
Ceilings CeilingsFor(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                     MeasurementCache& cache);

// Remeasures the ceilings (the highest rates of the GPU) that limit `work`, and stores and returns
// the greater of the old and new values. Call this if a correct result exceeds its ceiling, which
// is then probably too low because another program was using the GPU when it was measured.
Ceilings RaiseCeilings(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                       MeasurementCache& cache);

// A series of measured times, by message size, of one collective operation on one machine. Used to
// fit the alpha-beta model: time = alpha + size / beta.
struct LinkSeries {
  // A string that identifies the hardware and software on which the times were measured: the GPU
  // UUID and driver version of each rank (or its host name and address), the NCCL version, and this
  // process's NCCL_* environment variables.
  std::string machine;
  // The case without its size: benchmark, version, and all parameters except "bytes".
  std::string name;

  // Fits the model to the cached times of all message sizes except `bytes`, the size to predict,
  // because a prediction must not use its own times. Returns nullopt if there are times for too few
  // sizes.
  std::optional<AlphaBeta> Fit(double bytes, MeasurementCache& cache) const;

  // Adds a measured time. It replaces an earlier time of the same message size.
  void Add(const SizedTime& measured, MeasurementCache& cache) const;
};

// Returns the series of cached times for a case of a collective operation. `gpu` is this rank's
// GPU, or null if the rank has none. All ranks must call this. After an error, they cannot
// continue.
Result<LinkSeries> LinkSeriesOf(const BenchmarkInfo& info, const RunContext& context,
                                const LocalGpu* gpu);

// Returns the message size in bytes for the alpha-beta model: the payload or, if the work declares
// none, the number of bytes that cross the link. Returns 0 if the work uses no link.
double LinkBytes(const Work& work);

}  // namespace assay
