#include "host/platform.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "host/host_load.h"

namespace assay {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

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

// The sum over all instances of the highest cache level: /sys lists for each CPU
// the caches that it shares and with whom.
std::optional<int64_t> LastLevelCacheBytes() {
  std::map<std::string, int64_t> instances;  // By the CPUs that share it.
  int highest = 0;
  const std::string cpus = "/sys/devices/system/cpu/cpu";
  for (int cpu = 0;; ++cpu) {
    const std::string caches = cpus + std::to_string(cpu) + "/cache/index";
    if (FirstLine(caches + "0/level").empty()) break;
    for (int index = 0;; ++index) {
      const std::string cache = caches + std::to_string(index);
      const int level = std::atoi(FirstLine(cache + "/level").c_str());
      if (level == 0) break;
      if (level < highest) continue;
      if (level > highest) instances.clear();
      highest = level;
      const std::string size = FirstLine(cache + "/size");  // "32768K"
      const int64_t unit = size.find('M') != std::string::npos ? 1 << 20 : 1 << 10;
      instances[FirstLine(cache + "/shared_cpu_list")] = std::atoll(size.c_str()) * unit;
    }
  }
  int64_t sum = 0;
  for (const auto& [shared_by, bytes] : instances) sum += bytes;
  if (sum == 0) return std::nullopt;
  return sum;
}

// Of the CPUs' time, in others' hands.
constexpr double kBusyShare = 0.1;

class HostSampler : public ConditionsSampler {
 public:
  explicit HostSampler(std::unique_ptr<ConditionsSampler> gpu) : gpu_(std::move(gpu)) {}

  void Start() override {
    double averages[1];
    if (getloadavg(averages, 1) == 1) load_average_ = averages[0];
    load_.Begin();
    if (gpu_) gpu_->Start();
  }

  WindowConditions Stop() override {
    WindowConditions conditions = gpu_ ? gpu_->Stop() : WindowConditions();
    conditions.load_average = load_average_;
    if (load_.OthersShare().value_or(0) > kBusyShare) conditions.flags.push_back("busy_host");
    return conditions;
  }

  std::vector<double> Readings() override {
    return gpu_ ? gpu_->Readings() : std::vector<double>();
  }

 private:
  const std::unique_ptr<ConditionsSampler> gpu_;
  std::optional<double> load_average_;
  HostLoad load_{UsableCpus()};
};

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

int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas) {
  double threads = usable;
  for (const CpuQuota& quota : quotas) threads = std::min(threads, quota.cpus);
  return std::max(1, static_cast<int>(threads));
}

const HostCpu& Cpu() {
  static const HostCpu cpu = {ModelName(), UsableThreads(), LastLevelCacheBytes()};
  return cpu;
}

LinkedSoftware Software() {
  LinkedSoftware software;
  if (Gpu() != nullptr) Gpu()->FillVersions(&software);
  return software;
}

std::unique_ptr<ConditionsSampler> NewConditionsSampler(int gpu) {
  const bool on_gpu = gpu >= 0 && Gpu() != nullptr;
  return std::make_unique<HostSampler>(on_gpu ? Gpu()->NewSampler(gpu) : nullptr);
}

}  // namespace assay
