// The sizes of cpu_pointer_chase, which its declaration and its case share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// Dependent loads per iteration: so many that the cost of reading the clock is negligible.
inline constexpr int64_t kCpuChaseLoads = 65536;

// Returns the size in bytes of a working set that belongs to `level` ("l1", "l2", "l3" or "dram").
// `caches` are the sizes of the data caches, from L1 on. The set is half as large as the cache,
// and for "dram" eight times as large as the last one but at least 256 MiB. Returns nullopt if the
// CPU does not have that cache or the caches are unknown.
inline std::optional<int64_t> ChaseBytes(const std::string& level,
                                         const std::vector<int64_t>& caches) {
  if (caches.empty()) return std::nullopt;
  if (level == "dram") return std::max(int64_t{256} << 20, 8 * caches.back());
  const auto index = static_cast<size_t>(level[1] - '1');
  if (index >= caches.size() || caches[index] == 0) return std::nullopt;
  return caches[index] / 2;
}

}  // namespace assay
