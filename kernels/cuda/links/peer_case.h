// The frame of benchmarks between two GPUs of a node. Every rank of the gang is a process
// with one GPU; ranks `from` and `to` map each other's memory by CUDA IPC, the others wait.
// That works although neither process sees the other's GPU (since CUDA 10.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// Parameters "ranks", "from" and "to". `from` and `to` complete "rank of the GPU ...".
std::vector<ParameterSpec> PairParameters(const std::string& from, const std::string& to);

// Unsupported() if `from` and `to` are the same: so a matrix of pairs has a diagonal.
Status CheckPair(const ParameterMap& parameters);

// Memory of another process' GPU, as this process reaches it. Unmapped on destruction.
class PeerMapping {
 public:
  PeerMapping() = default;
  PeerMapping(PeerMapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PeerMapping& operator=(PeerMapping&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PeerMapping() { Close(); }

  // Maps what `handle` (a cudaIpcMemHandle_t's bytes) names into the current GPU's
  // address space. Unsupported() if the GPUs have no peer access; `pair` names them.
  static Result<PeerMapping> Open(const std::string& handle, const std::string& pair);

  void Close();
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class PeerCase : public Case {
 public:
  // The context's parameters have passed CheckPair.
  explicit PeerCase(const RunContext& context);
  // Unmaps on every rank before any rank frees.
  ~PeerCase() override;

 protected:
  // Called by every rank: `bytes` of memory on the two GPUs, each mapped by the other.
  // `what` completes "cannot allocate ... for ...".
  Status Connect(int64_t bytes, const std::string& what);

  bool is_from() const { return rank_ == from_; }
  bool is_to() const { return rank_ == to_; }
  bool in_pair() const { return is_from() || is_to(); }
  int from() const { return from_; }
  int to() const { return to_; }
  uint64_t seed() const { return seed_; }
  // Below, only of the two ranks.
  const GpuDevice& device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  char* own() const { return memory_.as<char>(); }
  char* other() const { return mapping_.data(); }

  // Makes the GPU current and waits for it; nothing on ranks without a part.
  Status Synchronize();

  // Called by every rank: Agree() on `mine`.
  Status Together(const Status& mine);
  // Called by every rank: everyone's numbers, by rank; all have as many as `mine` if not none.
  Result<std::vector<std::vector<double>>> Share(const std::vector<double>& mine);

 private:
  Status Allocate(int64_t bytes, const std::string& what);
  // What the other rank needs to map the memory of this one.
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
