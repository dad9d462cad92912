// What the host's caches keep from one iteration to the next: one rule for what a result
// says of its cache, for what its time is compared with, and for how buffers rotate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/platform.h"

namespace assay {

// Whether caches may hold what one iteration touches, all of its `bytes`, until the next.
// From twice the last-level cache on, little of it is left. A cache that is not known is
// taken to be larger than any machine's, so that nothing is called cold that may be hot.
inline bool StaysInCpuCaches(double bytes, const HostCpu& cpu = Cpu()) {
  constexpr int64_t kLargerThanAny = int64_t{4} << 30;
  return bytes < 2 * static_cast<double>(cpu.last_level_cache_bytes.value_or(kLargerThanAny));
}

// How many sets of buffers, of `set_bytes` each, iterations go through so that each finds its
// own cold: as many as fill twice the last-level cache, and one more. One, which stays hot,
// where that cache is not known.
inline int64_t ColdSets(double set_bytes, const HostCpu& cpu = Cpu()) {
  if (!cpu.last_level_cache_bytes) return 1;
  const auto cache = static_cast<double>(*cpu.last_level_cache_bytes);
  return static_cast<int64_t>(std::ceil(2 * cache / set_bytes)) + 1;
}

// The size of one array of STREAM's loops: `asked` or, if that is 0, four times the last-level
// cache.
inline int64_t StreamArrayBytes(int64_t asked, const HostCpu& cpu = Cpu()) {
  if (asked != 0) return asked;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * cpu.last_level_cache_bytes.value_or(0));
}

}  // namespace assay
