#include "kernels/cuda/links/host_memory.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "common/units.h"
#include "host/memory.h"
#include "host/numa.h"
#include "host/pci.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/links/link_parameters.h"

namespace assay {
namespace {

// Returns the GPU's PCI bus id in CUDA's format, or an empty text if CUDA reports an error.
std::string BusIdOf(int ordinal) {
  std::array<char, 32> bus_id{};
  if (cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), ordinal) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return bus_id.data();
}

Status NoHostMemory(int64_t bytes, bool pinned) {
  NoteMissingDeviceBytes(0);  // The GPU's memory was sufficient.
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

Result<HostMemory> HostMemory::Allocate(int64_t bytes, bool pinned, int ordinal,
                                        const std::string& numa) {
  // Checks the available memory first, because the Linux kernel kills processes that use too much.
  if (bytes > AvailableHostBytes().value_or(bytes)) return NoHostMemory(bytes, pinned);
  const NumaTopology topology = ReadNumaTopology();
  ASSAY_ASSIGN_OR_RETURN(const std::optional<int> node,
                         ChooseNumaNode(numa, ReadPciPlace(BusIdOf(ordinal)).numa_node, topology));
  const OnNumaNode on_node(node, topology);
  if (numa == "remote" && !on_node.bound()) {
    return Unsupported("numa is remote: this system lets no process choose NUMA node " +
                       std::to_string(*node));
  }
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
  // Record the NUMA node on which the system has placed the memory or, if that is unknown, the
  // requested node.
  memory.node_ = NumaNodeOfPage(static_cast<char*>(data) + bytes / 2);
  if (!memory.node_) memory.node_ = node;
  if (numa == "remote" && memory.node_ != node) {
    return Unsupported("numa is remote: the system put the memory on NUMA node " +
                       std::to_string(*memory.node_) + ", not on " + std::to_string(*node));
  }
  return Result<HostMemory>(std::move(memory));
}

}  // namespace assay
