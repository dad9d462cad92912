// The base class of benchmarks between two GPUs of a node. Each rank is a process that sees only
// its own GPU. The ranks `from` and `to` map each other's GPU memory with CUDA IPC, which works
// between such processes since CUDA 10.1. All other ranks only wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// Returns Unsupported() if `from` and `to` are equal, so that a matrix of pairs has a diagonal.
Status CheckPair(const ParameterMap& parameters);

// Memory of another process's GPU, as this process accesses it. Unmapped on destruction.
class PeerMapping {
 public:
  PeerMapping() = default;
  PeerMapping(PeerMapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PeerMapping& operator=(PeerMapping&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PeerMapping() { Close(); }

  // Maps another process's GPU memory into the current GPU's address space. `handle` contains the
  // bytes of the memory's cudaIpcMemHandle_t. Returns Unsupported() if the GPUs have no peer
  // access. `pair` names the two GPUs in that error.
  static Result<PeerMapping> Open(const std::string& handle, const std::string& pair);

  void Close();
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class PeerCase : public Case {
 public:
  // The context's parameters must have passed CheckPair.
  explicit PeerCase(const RunContext& context);
  // Unmaps the memory on every rank before any rank frees it.
  ~PeerCase() override;

 protected:
  // Allocates `bytes` on both GPUs and maps each allocation into the other GPU's address space.
  // Every rank must call this function. `what` is the purpose of the memory in the error message
  // "cannot allocate ... for ...".
  Status Connect(int64_t bytes, const std::string& what);

  bool is_from() const { return rank_ == from_; }
  bool is_to() const { return rank_ == to_; }
  bool in_pair() const { return is_from() || is_to(); }
  int from() const { return from_; }
  int to() const { return to_; }
  uint64_t seed() const { return seed_; }
  // The following methods are for the two ranks only.
  const GpuDevice& device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  char* own() const { return memory_.as<char>(); }
  char* other() const { return mapping_.data(); }

  // Makes the GPU current and synchronizes with it; does nothing on the other ranks.
  Status Synchronize();

  // Returns Agree() on `mine`. Every rank must call it.
  Status Together(const Status& mine);
  // Sends `mine` to all ranks and returns the numbers that each rank sent, indexed by rank. Ranks
  // may send different counts of numbers. Every rank must call this function.
  Result<std::vector<std::vector<double>>> Share(const std::vector<double>& mine);

 private:
  Status Allocate(int64_t bytes, const std::string& what);
  // Data that the other rank needs to map this rank's memory.
  Result<std::string> Offer();
  Status Map(const std::vector<std::string>& offers);

  const int rank_;
  const int gpu_;
  const int from_;
  const int to_;
  const uint64_t seed_;
  Peers& peers_;
  bool gang_lost_ = false;
  GpuDevice device_;
  CudaStream stream_;
  DeviceBuffer memory_;
  PeerMapping mapping_;
};

}  // namespace assay
