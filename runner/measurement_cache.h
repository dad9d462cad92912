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
// errors are printed to stderr and otherwise ignored, because a lost value can be measured again.
// Not thread-safe, but several processes may share the folder.
class MeasurementCache {
 public:
  // Values that are older than kMaxAge are removed. If an owner has more than kMaxValues values, so
  // are the oldest ones.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  static constexpr size_t kMaxValues = 400;
  // The name of a series, and a size in bytes. The size is 0 if the series has a single value.
  using Key = std::pair<std::string, double>;

  // If `folder` is empty, values are kept only in this process.
  explicit MeasurementCache(std::string folder, Clock* clock = &Clock::Real());

  // Returns the cached values of `owner` that are not older than `max_age`. `owner` identifies the
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

  // Returns the owner's entries from memory and from its file, without those that are too old or
  // too many.
  Entries& Load(const std::string& owner);
  std::string PathOf(const std::string& owner) const;

  const std::string folder_;
  Clock* const clock_;
  std::map<std::string, Entries> known_;  // By owner.
};

// Returns the cache of this process. Its folder is the value of the environment variable
// ASSAY_CACHE_DIR.
MeasurementCache& ProcessCache();

// Returns the ceilings (the highest rates measured on `gpu`) that limit `work`: memory bandwidth
// for Work::traffic and arithmetic for Work::peak. Cached values are used if they are at most 24
// hours old and the driver, the power limit and the libraries have not changed. Otherwise the
// ceilings are measured. Each measurement takes up to a second and up to 2 GiB of GPU memory. A
// ceiling that cannot be measured is nullopt.
Ceilings CeilingsFor(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                     MeasurementCache& cache);

// Measures the ceilings that limit `work` again, and returns and stores the greater of the old and
// the new values. Call this if a correct result exceeds its ceiling. The ceiling was then probably
// measured while another program used the GPU.
Ceilings RaiseCeilings(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                       MeasurementCache& cache);

// A series of measured times of one collective on one machine, by message size. They serve to fit
// the alpha-beta model, time = alpha + size / beta.
struct LinkSeries {
  // Identifies the hardware and software of all ranks. Consists of each rank's GPU UUID and driver
  // version (or host name and address), and the NCCL version and NCCL_* environment variables of
  // this process.
  std::string machine;
  // The case without its size: benchmark, version, and all parameters except "bytes".
  std::string name;

  // Fits the model to the cached times of all message sizes except `bytes`, which is the size to
  // predict. Returns nullopt if the cache has too few sizes for FitAlphaBeta().
  std::optional<AlphaBeta> Fit(double bytes, MeasurementCache& cache) const;

  // Adds a measured time. It replaces an earlier time of the same message size.
  void Add(const SizedTime& measured, MeasurementCache& cache) const;
};

// Returns the series of cached times to which a case of a collective belongs. `gpu` is this rank's
// GPU, or null if the rank has none. All ranks of the gang must call this. After an error, the gang
// cannot continue.
Result<LinkSeries> LinkSeriesOf(const BenchmarkInfo& info, const RunContext& context,
                                const LocalGpu* gpu);

// Returns S of the alpha-beta model in bytes: the payload or, if the work declares none, the bytes
// that cross the link. Returns 0 if the work moves nothing over a link.
double LinkBytes(const Work& work);

}  // namespace assay
