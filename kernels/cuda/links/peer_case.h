// The base class of benchmarks between two GPUs of a node. They run as several processes ("ranks"),
// each of which sees only its own GPU. The ranks `from` and `to` map each other's GPU memory with
// CUDA IPC, which has worked between such processes since CUDA 10.1. All other ranks just wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

// Returns Unsupported() if the parameters "from" and "to" are the same rank. This is not treated as
// an invalid parameter, so that a campaign (a series of benchmarks) can simply run all pairs of
// ranks.
Status CheckPair(const ParameterMap& parameters);

// A mapping of another process's GPU memory into this process. The destructor unmaps the memory.
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
  // bytes of the memory's cudaIpcMemHandle_t. Returns Unsupported() if the GPUs cannot access each
  // other's memory. `pair` names the two GPUs in that error message.
  static Result<PeerMapping> Open(const std::string& handle, const std::string& pair);

  void Close();
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class PeerCase : public Case {
 public:
  // The parameters in `context` must have passed CheckPair().
  explicit PeerCase(const RunContext& context);
  // Unmaps the memory on every rank before any rank frees it.
  ~PeerCase() override;

 protected:
  // Allocates `bytes` on the GPUs of `from` and `to`, and maps each allocation into the other GPU's
  // address space. Every rank must call this function. `what` states the purpose of the memory in
  // the error message "cannot allocate ... for ...".
  Status Connect(int64_t bytes, const std::string& what);

  bool is_from() const { return rank_ == from_; }
  bool is_to() const { return rank_ == to_; }
  bool in_pair() const { return is_from() || is_to(); }
  int from() const { return from_; }
  int to() const { return to_; }
  uint64_t seed() const { return seed_; }
  // The following methods may be called only on the ranks `from` and `to`.
  const GpuDevice& device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  char* own() const { return memory_.as<char>(); }
  char* other() const { return mapping_.data(); }

  // Makes this rank's GPU current and waits for the stream. Does nothing on ranks other than `from`
  // and `to`.
  Status Synchronize();

  // Returns OK if `mine` is OK on all ranks, and an error otherwise. Every rank must call this
  // function.
  Status Together(const Status& mine);
  // Sends the values `mine` to all ranks and returns the values sent by each rank, indexed by rank.
  // The number of values may differ between ranks. Every rank must call this function.
  Result<std::vector<std::vector<double>>> Share(const std::vector<double>& mine);

 private:
  Status Allocate(int64_t bytes, const std::string& what);
  // Returns the data that the other rank needs to map this rank's memory.
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
