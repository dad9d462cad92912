#include "host/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "common/file.h"

namespace assay {
namespace {

// Number of nodes in a mask of memory policies; more than any machine has.
constexpr int kMaxNodes = 1024;
constexpr int kMaskBits = 8 * sizeof(unsigned long);
using NodeMask = std::array<unsigned long, kMaxNodes / kMaskBits>;

std::vector<int> NumbersIn(const std::string& text) {
  std::istringstream stream(text);
  std::vector<int> numbers;
  for (int number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

bool SetPolicy(int mode, const unsigned long* mask) {
  return syscall(SYS_set_mempolicy, mode, mask, mask == nullptr ? 0 : kMaxNodes) == 0;
}

}  // namespace

std::vector<int> ParseCpuList(const std::string& list) {
  std::vector<int> cpus;
  std::istringstream text(list);
  int first = 0;
  while (text >> first && first >= 0) {
    int last = first;
    if (text.peek() == '-') {
      text.ignore();
      if (!(text >> last)) break;
    }
    last = std::min(last, first + CPU_SETSIZE);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (text.peek() != ',') break;
    text.ignore();
  }
  return cpus;
}

NumaTopology ReadNumaTopology(const std::string& sys) {
  const std::string folder = sys + "/devices/system/node/";
  NumaTopology topology;
  // Lists of NUMA nodes have the same format as lists of CPUs.
  for (const int node : ParseCpuList(FirstLineOf(folder + "has_memory"))) {
    const std::string own = folder + "node" + std::to_string(node) + "/";
    topology.distances[node] = NumbersIn(FirstLineOf(own + "distance"));
    topology.cpus[node] = ParseCpuList(FirstLineOf(own + "cpulist"));
  }
  return topology;
}

OnNumaNode::OnNumaNode(std::optional<int> node, const NumaTopology& topology) {
  CPU_ZERO(&before_);
  if (!node || *node < 0 || *node >= kMaxNodes) return;
  cpu_set_t near;
  CPU_ZERO(&near);
  const auto cpus = topology.cpus.find(*node);
  if (cpus != topology.cpus.end()) {
    for (const int cpu : cpus->second) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &near);
    }
  }
  if (sched_getaffinity(0, sizeof before_, &before_) == 0) {
    CPU_AND(&near, &near, &before_);
    moved_ = CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof near, &near) == 0;
  }
  NodeMask mask{};
  mask[static_cast<size_t>(*node / kMaskBits)] = 1UL << (*node % kMaskBits);
  policy_ = SetPolicy(MPOL_BIND, mask.data());
}

OnNumaNode::~OnNumaNode() {
  if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  if (policy_) SetPolicy(MPOL_DEFAULT, nullptr);
}

std::optional<int> NumaNodeOfPage(const void* address) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) / page_bytes * page_bytes;
  void* pages[1] = {reinterpret_cast<void*>(page)};
  int status = -1;
  // Without target nodes, move_pages moves nothing and only reports the NUMA nodes of the pages.
  if (syscall(SYS_move_pages, 0, 1UL, pages, nullptr, &status, 0) != 0 || status < 0) {
    return std::nullopt;
  }
  return status;
}

}  // namespace assay
