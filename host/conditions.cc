#include "host/conditions.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "common/mutex.h"
#include "host/cpu.h"

namespace assay {
namespace {

constexpr double kBusyShare = 0.1;  // Of the CPU time, used by other processes.
constexpr auto kSamplePeriod = std::chrono::milliseconds(20);

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

std::optional<double> Median(std::vector<double>* values) {
  if (values->empty()) return std::nullopt;
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

class NvmlSampler : public ConditionsSampler {
 public:
  NvmlSampler(NvmlSource source, std::chrono::milliseconds process_period)
      : source_(std::move(source)), process_period_(process_period) {}

  ~NvmlSampler() override { End(); }

  void Start() override {
    thread_ = std::thread([this] { Loop(); });
  }

  std::vector<double> Readings() override {
    const NvmlSample sample = source_.sample();
    if (!sample.power_watts) return {};
    return {*sample.power_watts};
  }

  WindowConditions Stop() override {
    End();
    WindowConditions conditions;
    conditions.sm_clock_mhz = Median(&sm_clocks_);
    conditions.memory_clock_mhz = Median(&memory_clocks_);
    if (!powers_.empty()) {
      conditions.power_watts = std::accumulate(powers_.begin(), powers_.end(), 0.0) /
                               static_cast<double>(powers_.size());
    }
    conditions.temperature_celsius = temperature_;
    conditions.throttle_reasons.assign(throttle_reasons_.begin(), throttle_reasons_.end());
    conditions.other_gpu_processes = other_processes_;
    if (std::any_of(throttle_reasons_.begin(), throttle_reasons_.end(), IsHarmfulThrottleReason)) {
      conditions.flags.push_back("throttled");
    }
    if (other_processes_.value_or(0) > 0) conditions.flags.push_back("shared_gpu");
    return conditions;
  }

 private:
  void End() {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    stop_.NotifyAll();
    thread_.join();
  }

  void Loop() {
    auto next = std::chrono::steady_clock::now();
    auto next_count = next;
    for (bool stopping = false; !stopping;) {
      if (const auto now = std::chrono::steady_clock::now(); now >= next_count) {
        CountOthers();
        next_count = now + process_period_;
      }
      Add(source_.sample());
      // If a reading takes longer than the sampling period, take the next one at once, but do not
      // make up for missed readings.
      next = std::max(next + kSamplePeriod, std::chrono::steady_clock::now());
      MutexLock lock(mutex_);
      while (!stopping_ && stop_.WaitUntil(mutex_, next)) {
      }
      stopping = stopping_;
    }
    CountOthers();
  }

  // Counts the other processes on the GPU by subtracting one from the number that the driver lists.
  // This process cannot be looked up in the list, because the driver may use process ids from
  // another PID namespace.
  void CountOthers() {
    const auto processes = source_.processes();
    if (!processes) return;
    const int others = std::max(0, static_cast<int>(processes->size()) - 1);
    other_processes_ = std::max(other_processes_.value_or(0), others);
  }

  void Add(const NvmlSample& sample) {
    if (sample.sm_clock_mhz) sm_clocks_.push_back(*sample.sm_clock_mhz);
    if (sample.memory_clock_mhz) memory_clocks_.push_back(*sample.memory_clock_mhz);
    if (sample.power_watts) powers_.push_back(*sample.power_watts);
    temperature_ = std::max(temperature_, sample.temperature_celsius);  // Absent is the least.
    if (!sample.throttle_reasons) return;
    throttle_reasons_.insert(sample.throttle_reasons->begin(), sample.throttle_reasons->end());
  }

  const NvmlSource source_;
  const std::chrono::milliseconds process_period_;
  std::thread thread_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  // Written by the thread, and read after it has ended.
  std::vector<double> sm_clocks_;
  std::vector<double> memory_clocks_;
  std::vector<double> powers_;
  std::optional<double> temperature_;
  std::set<std::string> throttle_reasons_;
  std::optional<int> other_processes_;
};

constexpr int64_t kLeastTicks = 10;  // Per CPU.

struct Process {
  int pid = 0;
  int parent = 0;
  std::string name;   // Cut to 15 characters by Linux.
  int64_t ticks = 0;  // CPU time of the process and of its ended children.
};

// Parses "71 (assay-runner) S 70 ...". The name may contain spaces and brackets.
std::optional<Process> ReadProcess(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Process process;
  std::from_chars(line.data(), line.data() + open, process.pid);
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  fields >> skipped >> process.parent;
  constexpr int kBeforeTimes = 9;  // From pgrp to cmajflt.
  for (int i = 0; i < kBeforeTimes; ++i) fields >> skipped;
  for (int i = 0; i < 4; ++i) {  // utime, stime, cutime, cstime.
    int64_t ticks = 0;
    fields >> ticks;
    process.ticks += ticks;
  }
  if (!fields) return std::nullopt;
  return process;
}

std::map<int, Process> ReadProcesses(const std::string& proc) {
  std::map<int, Process> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(proc, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto process = ReadProcess(entry->path().string())) {
      processes[process->pid] = std::move(*process);
    }
  }
  return processes;
}

bool IsOurs(const Process& process) { return process.name.rfind("assay", 0) == 0; }

}  // namespace

std::unique_ptr<ConditionsSampler> NewConditionsSampler(std::unique_ptr<ConditionsSampler> gpu) {
  return std::make_unique<HostSampler>(std::move(gpu));
}

std::unique_ptr<ConditionsSampler> NewNvmlSampler(NvmlSource source,
                                                  std::chrono::milliseconds process_period) {
  return std::make_unique<NvmlSampler>(std::move(source), process_period);
}

HostLoad::HostLoad(std::vector<int> cpus, std::string proc)
    : cpus_(std::move(cpus)), proc_(std::move(proc)), tree_(OwnTree()) {}

void HostLoad::Begin() {
  own_begin_ = TicksOf(tree_);
  cpus_begin_ = ReadCpus();
}

std::optional<double> HostLoad::OthersShare() const {
  const auto now = ReadCpus();
  if (!now || !cpus_begin_) return std::nullopt;
  const int64_t all = now->all - cpus_begin_->all;
  if (all < kLeastTicks * static_cast<int64_t>(cpus_.size())) return std::nullopt;
  // Includes processes that started since Begin, with all of their time.
  const int64_t own = TicksOf(OwnTree()) - own_begin_;
  const int64_t others = std::max<int64_t>(0, now->used - cpus_begin_->used - own);
  return static_cast<double>(others) / static_cast<double>(all);
}

// Reads lines "cpu3 user nice system idle iowait irq softirq steal ...".
std::optional<HostLoad::Ticks> HostLoad::ReadCpus() const {
  std::ifstream file(proc_ + "/stat");
  Ticks sum;
  size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu", 0) != 0) break;
    std::istringstream fields(line.substr(3));
    int cpu = 0;
    int64_t ticks[8] = {};
    if (line.rfind("cpu ", 0) == 0 || !(fields >> cpu)) continue;
    if (std::find(cpus_.begin(), cpus_.end(), cpu) == cpus_.end()) continue;
    for (int64_t& one : ticks) fields >> one;
    if (!fields) return std::nullopt;
    const auto [user, nice, system, steal] = std::tuple(ticks[0], ticks[1], ticks[2], ticks[7]);
    sum.used += user + nice + system + steal;
    sum.all += std::accumulate(std::begin(ticks), std::end(ticks), int64_t{0});
    ++found;
  }
  if (found == 0 || found != cpus_.size()) return std::nullopt;
  return sum;
}

int64_t HostLoad::TicksOf(const std::vector<int>& tree) const {
  int64_t sum = 0;
  for (const int pid : tree) {
    if (const auto process = ReadProcess(proc_ + "/" + std::to_string(pid))) sum += process->ticks;
  }
  return sum;
}

std::vector<int> HostLoad::OwnTree() const {
  const auto self = ReadProcess(proc_ + "/self");
  if (!self) return {};
  const std::map<int, Process> processes = ReadProcesses(proc_);
  int root = self->pid;
  // Limit the number of steps: if process ids are reused while /proc is being read, the chain of
  // parents may contain a cycle.
  size_t steps = 0;
  for (auto at = processes.find(self->parent);
       at != processes.end() && IsOurs(at->second) && steps < processes.size();
       at = processes.find(at->second.parent), ++steps) {
    root = at->first;
  }
  std::multimap<int, int> children;
  for (const auto& [pid, process] : processes) children.emplace(process.parent, pid);
  std::vector<int> tree = {root};
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto [begin, end] = children.equal_range(tree[i]);
    for (auto child = begin; child != end; ++child) tree.push_back(child->second);
    children.erase(begin, end);
  }
  return tree;
}

}  // namespace assay
