// The sizes that both the declaration and the code of the cpu_pointer_chase benchmark need.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The number of dependent loads per iteration. Large enough to make the time to read the clock
// negligible.
inline constexpr int64_t kCpuChaseLoads = 65536;

// Returns the size in bytes of a working set for measuring the latency of `level`, or nullopt if
// the CPU lacks that cache or the sizes are unknown. `caches` lists the sizes of the data caches,
// starting with L1. `level` is one of:
// - "l1", "l2", "l3": the working set is far too large for the next smaller cache. It does not fill
//   its own cache, part of which other virtual machines may be using.
// - "dram": the working set is much larger than the last cache.
inline std::optional<int64_t> ChaseBytes(const std::string& level,
                                         const std::vector<int64_t>& caches) {
  if (caches.empty()) return std::nullopt;
  if (level == "dram") return std::max(int64_t{256} << 20, 8 * caches.back());
  const auto index = static_cast<size_t>(level[1] - '1');
  if (index >= caches.size()) return std::nullopt;
  if (index == 0) return caches[0] / 2;
  const auto smaller = static_cast<double>(caches[index - 1]);
  return static_cast<int64_t>(std::sqrt(smaller * static_cast<double>(caches[index])));
}

}  // namespace assay
