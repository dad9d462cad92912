#include "kernels/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace assay {
namespace {

// The number behind `name` in a file of lines "name number ...".
std::optional<int64_t> NumberOf(const std::string& name, const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

// The number that a file begins with; absent for no such file, or "max".
std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// What the control group may still take, its page cache, which gives way, not counted.
std::optional<int64_t> GroupBytesLeft() {
  const std::string group = "/sys/fs/cgroup/memory.";
  const auto limit = NumberIn(group + "max");
  const auto used = NumberIn(group + "current");
  if (!limit || !used) return std::nullopt;
  const int64_t cached = NumberOf("inactive_file", group + "stat").value_or(0);
  return std::max<int64_t>(0, *limit - *used + cached);
}

std::optional<int64_t> HostBytesLeft() {
  const auto kib = NumberOf("MemAvailable:", "/proc/meminfo");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

}  // namespace

std::optional<int64_t> AvailableHostBytes() {
  const auto group = GroupBytesLeft();
  const auto host = HostBytesLeft();
  return group && host ? std::min(group, host) : std::max(group, host);
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
