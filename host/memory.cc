#include "host/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/file.h"
#include "host/cgroups.h"

namespace assay {
namespace {

std::optional<int64_t> MemInfo(const std::string& key, const std::string& root) {
  const auto kib = NumberOf(key + ":", root + "/proc/meminfo");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

std::optional<int64_t> Smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::min(a, b) : std::max(a, b);
}

}  // namespace

std::optional<int64_t> AvailableHostBytes(const std::string& root) {
  return Smaller(MemInfo("MemAvailable", root), ReadCgroupMemory(root).left_bytes);
}

std::optional<int64_t> UsableHostBytes(const std::string& root) {
  return Smaller(MemInfo("MemTotal", root), ReadCgroupMemory(root).limit_bytes);
}

std::optional<int64_t> AddressSpaceLeft() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = NumberIn("/proc/self/statm");
  if (!pages) return std::nullopt;
  constexpr rlim_t kMost = std::numeric_limits<int64_t>::max();
  const auto most = static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
  return std::max<int64_t>(0, most - *pages * sysconf(_SC_PAGESIZE));
}

}  // namespace assay
