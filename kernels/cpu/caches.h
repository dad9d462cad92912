// Decides whether the CPU's caches keep data from one iteration to the next. This determines
// whether a result is reported as cached, which bandwidth limit it is compared with, and how many
// sets of buffers the iterations rotate through.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/cpu.h"

namespace assay {

// Returns true if data may stay in the CPU's caches from one iteration to the next; `bytes` is what
// an iteration touches. At twice the last-level cache or more, little of it does. If the size of
// the cache is unknown, it is assumed to be larger than any, so that cached data is never reported
// as uncached.
inline bool StaysInCpuCaches(double bytes, const HostCpu& cpu = Cpu()) {
  constexpr int64_t kLargerThanAny = int64_t{4} << 30;
  return bytes < 2 * static_cast<double>(cpu.last_level_cache_bytes.value_or(kLargerThanAny));
}

// Returns the number of buffer sets, of `set_bytes` each, that iterations must rotate through so
// that each finds its set outside the caches: enough for twice the last-level cache, plus one.
// Returns 1 if the size of that cache is unknown; the data then stays cached.
inline int64_t ColdSets(double set_bytes, const HostCpu& cpu = Cpu()) {
  if (!cpu.last_level_cache_bytes) return 1;
  const auto cache = static_cast<double>(*cpu.last_level_cache_bytes);
  return static_cast<int64_t>(std::ceil(2 * cache / set_bytes)) + 1;
}

// Returns the size in bytes of each array in STREAM's loops. This is `asked` or, if that is 0, four
// times the last-level cache, but at least 64 MiB.
inline int64_t StreamArrayBytes(int64_t asked, const HostCpu& cpu = Cpu()) {
  if (asked != 0) return asked;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * cpu.last_level_cache_bytes.value_or(0));
}

}  // namespace assay
