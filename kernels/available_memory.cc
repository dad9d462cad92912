#include "kernels/available_memory.h"

#include <algorithm>
#include <fstream>
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

}  // namespace

std::optional<int64_t> AvailableHostBytes() {
  std::optional<int64_t> bytes = GroupBytesLeft();
  if (const auto kib = NumberOf("MemAvailable:", "/proc/meminfo")) {
    bytes = std::min(bytes.value_or(*kib * 1024), *kib * 1024);
  }
  return bytes;
}

}  // namespace assay
