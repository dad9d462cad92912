#include "host/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "common/file.h"

namespace assay {
namespace {

std::string ModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "";
}

int UsableThreads() {
  const auto usable =
      UsableCpus().empty() ? std::thread::hardware_concurrency() : UsableCpus().size();
  return ThreadsWithin(static_cast<int>(usable), ReadCpuQuotas());
}

// A cache of one CPU.
struct Cache {
  int level = 0;
  std::string type;  // "Data", "Instruction" or "Unified".
  int64_t bytes = 0;
  std::string shared_by;  // The CPUs that use it: "0-7".
};

std::vector<Cache> CachesOf(int cpu) {
  std::vector<Cache> caches;
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
  for (int index = 0;; ++index) {
    const std::string cache = folder + std::to_string(index);
    const int level = std::atoi(FirstLineOf(cache + "/level").c_str());
    if (level == 0) return caches;
    const std::string size = FirstLineOf(cache + "/size");  // "32768K"
    const int64_t unit = size.find('M') != std::string::npos ? 1 << 20 : 1 << 10;
    caches.push_back({level, FirstLineOf(cache + "/type"), std::atoll(size.c_str()) * unit,
                      FirstLineOf(cache + "/shared_cpu_list")});
  }
}

// Returns the total size of the machine's last-level caches in bytes, or nullopt if unknown. Each
// cache is counted only once, even though /sys lists it under every CPU that shares it.
std::optional<int64_t> LastLevelCacheBytes() {
  std::map<std::string, int64_t> instances;  // By the CPUs that share it.
  int highest = 0;
  for (int cpu = 0;; ++cpu) {
    const std::vector<Cache> caches = CachesOf(cpu);
    if (caches.empty()) break;
    for (const Cache& cache : caches) {
      if (cache.level < highest) continue;
      if (cache.level > highest) instances.clear();
      highest = cache.level;
      instances[cache.shared_by] = cache.bytes;
    }
  }
  int64_t sum = 0;
  for (const auto& [shared_by, bytes] : instances) sum += bytes;
  if (sum == 0) return std::nullopt;
  return sum;
}

}  // namespace

const std::vector<int>& UsableCpus() {
  static const std::vector<int> cpus = [] {
    std::vector<int> usable;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return usable;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) usable.push_back(cpu);
    }
    return usable;
  }();
  return cpus;
}

std::vector<int64_t> DataCacheBytes() {
  std::vector<int64_t> sizes;
  for (const Cache& cache : CachesOf(UsableCpus().empty() ? 0 : UsableCpus().front())) {
    // Linux lists them from L1 on.
    if (cache.type != "Instruction") sizes.push_back(cache.bytes);
  }
  return sizes;
}

int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas) {
  double threads = usable;
  for (const CpuQuota& quota : quotas) threads = std::min(threads, quota.cpus);
  return std::max(1, static_cast<int>(threads));
}

const HostCpu& Cpu() {
  static const HostCpu cpu = {ModelName(), UsableThreads(), LastLevelCacheBytes()};
  return cpu;
}

}  // namespace assay
