// The sizes that both the declaration and the code of the cpu_pointer_chase benchmark need.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The number of dependent loads per iteration. Reading the clock takes negligible time compared
// with so many loads.
inline constexpr int64_t kCpuChaseLoads = 65536;

// Returns the size in bytes of a working set that belongs to `level` ("l1", "l2", "l3" or "dram").
// `caches` contains the sizes of the data caches, starting with L1. For "l1", the set is half as
// large as the cache. For "l2" and "l3", its size is the geometric mean of the sizes of that cache
// and of the next smaller cache. Such a set is far too large for the smaller cache, and fits in the
// larger one even if other virtual machines use a part of it. For "dram", the set is eight times as
// large as the last cache, but at least 256 MiB. Returns nullopt if the CPU does not have that
// cache or if the sizes are unknown.
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
