// The rule whether the host's caches keep data from one iteration to the next. It decides the
// "cache" of a result, the ceiling that its time is compared with, and the rotation of buffers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/cpu.h"

namespace assay {

// Returns true if the caches may hold the `bytes` that one iteration touches until the next. Little
// of them is left if they are at least twice the last-level cache. An unknown cache counts as
// larger than that of any machine, so that data which may be hot is never called cold.
inline bool StaysInCpuCaches(double bytes, const HostCpu& cpu = Cpu()) {
  constexpr int64_t kLargerThanAny = int64_t{4} << 30;
  return bytes < 2 * static_cast<double>(cpu.last_level_cache_bytes.value_or(kLargerThanAny));
}

// Returns the number of sets of buffers, of `set_bytes` each, through which iterations rotate so
// that each finds its own cold: enough to fill twice the last-level cache, and one more. Returns 1,
// which stays hot, if that cache is unknown.
inline int64_t ColdSets(double set_bytes, const HostCpu& cpu = Cpu()) {
  if (!cpu.last_level_cache_bytes) return 1;
  const auto cache = static_cast<double>(*cpu.last_level_cache_bytes);
  return static_cast<int64_t>(std::ceil(2 * cache / set_bytes)) + 1;
}

// Returns the size of one array of STREAM's loops: `asked` or, if that is 0, four times the
// last-level cache.
inline int64_t StreamArrayBytes(int64_t asked, const HostCpu& cpu = Cpu()) {
  if (asked != 0) return asked;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * cpu.last_level_cache_bytes.value_or(0));
}

}  // namespace assay
