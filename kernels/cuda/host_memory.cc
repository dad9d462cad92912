#include "kernels/cuda/host_memory.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/available_memory.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"

namespace assay {
namespace {

// The first line of a file; empty if there is none.
std::string LineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// CPUs of a list as Linux writes them: "0-3,8". What is no such list ends it.
std::vector<int> CpusOf(const std::string& list) {
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

// CPUs of the NUMA node next to the GPU; empty if the system does not tell.
std::vector<int> CpusNextTo(int ordinal) {
  std::array<char, 32> bus_id{};
  if (cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), ordinal) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::string name = bus_id.data();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string node = LineOf("/sys/bus/pci/devices/" + name + "/numa_node");
  if (node.empty() || node.front() == '-') return {};
  return CpusOf(LineOf("/sys/devices/system/node/node" + node + "/cpulist"));
}

// While it lives, the calling thread runs next to a GPU, and so do the pages that it is
// the first to touch.
class RunNextTo {
 public:
  explicit RunNextTo(int ordinal) {
    cpu_set_t near;
    CPU_ZERO(&near);
    for (const int cpu : CpusNextTo(ordinal)) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &near);
    }
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    CPU_AND(&near, &near, &before_);
    moved_ = CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof near, &near) == 0;
  }
  ~RunNextTo() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  RunNextTo(const RunNextTo&) = delete;
  RunNextTo& operator=(const RunNextTo&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

Status NoHostMemory(int64_t bytes, bool pinned) {
  NoteMissingDeviceBytes(0);  // It is not the GPU's memory that was short.
  const auto left = AvailableHostBytes();
  Status status = OutOfMemory(
      "cannot allocate " + ApproximateBytes(bytes) + " of " + (pinned ? "pinned" : "pageable") +
      " host memory; " + (left ? ApproximateBytes(*left) : "an unknown amount") + " is available");
  if (!left) return status;
  return status.WithHint("a size of at most " + ApproximateBytes(*left / 2) + " would fit");
}

}  // namespace

HostMemory::~HostMemory() {
  if (data_ == nullptr) return;
  if (pinned_) {
    cudaFreeHost(data_);
  } else {
    munmap(data_, static_cast<size_t>(bytes_));
  }
}

Result<HostMemory> HostMemory::Allocate(int64_t bytes, bool pinned, int ordinal) {
  // Asking first is how a case fails instead of being killed.
  if (bytes > AvailableHostBytes().value_or(bytes)) return NoHostMemory(bytes, pinned);
  const RunNextTo next_to(ordinal);
  HostMemory memory;
  void* data = nullptr;
  if (pinned) {
    const cudaError_t error =
        cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return NoHostMemory(bytes, pinned);
    }
    ASSAY_RETURN_IF_ERROR(CudaStatus(error, "cudaHostAlloc", __FILE__, __LINE__));
  } else {
    data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return NoHostMemory(bytes, pinned);
  }
  memory.data_ = data;
  memory.bytes_ = bytes;
  memory.pinned_ = pinned;
  std::memset(data, 0, static_cast<size_t>(bytes));
  return memory;
}

}  // namespace assay
