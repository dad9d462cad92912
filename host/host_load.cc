#include "host/host_load.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

namespace assay {
namespace {

constexpr int64_t kLeastTicks = 10;  // Of each CPU.

struct Process {
  int pid = 0;
  int parent = 0;
  std::string name;   // Its first 15 characters.
  int64_t ticks = 0;  // Its own, and those of its children that have ended.
};

// "71 (assay-runner) S 70 ...": the name may have spaces and brackets of its own.
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
  // Processes that started since count from their start, which was after Begin.
  const int64_t own = TicksOf(OwnTree()) - own_begin_;
  const int64_t others = std::max<int64_t>(0, now->used - cpus_begin_->used - own);
  return static_cast<double>(others) / static_cast<double>(all);
}

// Lines "cpu3 user nice system idle iowait irq softirq steal ...".
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
  // Numbers that were given anew meanwhile could make a circle.
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
