// Decides whether data stays in the CPU's caches between iterations. Benchmarks use this to label
// results as cached, to choose the bandwidth limit to compare with, and to decide how many sets of
// buffers to rotate through.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/cpu.h"

namespace assay {

// Returns true if some of an iteration's data, `bytes` in total, may stay in the CPU's caches until
// the next iteration. Assumes so if `bytes` is less than twice the size of the last-level cache. If
// that size is unknown, assumes 4 GiB, so that cached data is never reported as uncached.
inline bool StaysInCpuCaches(double bytes, const HostCpu& cpu = Cpu()) {
  constexpr int64_t kLargerThanAny = int64_t{4} << 30;
  return bytes < 2 * static_cast<double>(cpu.last_level_cache_bytes.value_or(kLargerThanAny));
}

// Returns how many sets of buffers, of `set_bytes` each, a benchmark must rotate through so that no
// set is in the caches when its turn comes again. By then, the other sets have filled the
// last-level cache at least twice. Returns 1 if the size of this cache is unknown, in which case
// data may stay cached.
inline int64_t ColdSets(double set_bytes, const HostCpu& cpu = Cpu()) {
  if (!cpu.last_level_cache_bytes) return 1;
  const auto cache = static_cast<double>(*cpu.last_level_cache_bytes);
  return static_cast<int64_t>(std::ceil(2 * cache / set_bytes)) + 1;
}

// Returns the size in bytes of each array in STREAM's loops. This is `asked` or, if that is 0, four
// times the size of the last-level cache, but at least 64 MiB.
inline int64_t StreamArrayBytes(int64_t asked, const HostCpu& cpu = Cpu()) {
  if (asked != 0) return asked;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * cpu.last_level_cache_bytes.value_or(0));
}

}  // namespace assay
