// The base class of benchmark cases that run on one GPU. A benchmark implements SetUp (prepares its
// memory), Enqueue (enqueues one iteration) and Check (verifies the output). The base class does
// the rest: it rotates through several sets of buffers so that caches stay cold, fills outputs with
// NaN, measures times with events, and verifies the output before and after timing.
//
// With the parameter `launch: graph`, iterations over all sets of buffers are captured into one
// CUDA graph, and each launch replays this graph. Caches are then as cold as with single launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/frame/rotation.h"

namespace assay {

// An executable CUDA graph. Owns the graph.
class CudaGraph {
 public:
  CudaGraph() = default;
  CudaGraph(CudaGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~CudaGraph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  // Captures the work that `enqueue` puts on `stream`.
  static Result<CudaGraph> Capture(cudaStream_t stream, const std::function<Status()>& enqueue);

  Status Launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// Memory of one case's output, on the device.
struct OutputRange {
  void* data = nullptr;
  int64_t bytes = 0;
};

// The interface of a case that writes outputs in several places.
class TransferEnds {
 public:
  virtual ~TransferEnds() = default;
  // Returns the output buffers of the latest iteration, one per direction of transfer, in GPU or
  // host memory. Tests corrupt these buffers to check that VerifyLast fails.
  virtual std::vector<OutputRange> LastOutputs() = 0;
};

class GpuCase : public Case {
 public:
  // Reads the parameters "cache", "fill" and "launch", where the benchmark declares them.
  explicit GpuCase(const RunContext& context);

  // Makes the GPU current, creates the stream and calls SetUp. With `launch: graph`, also runs one
  // iteration and captures the graph. Must be called once, before any other method.
  Status Prepare();

  Timing HowTimed() const override;
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override {
    return launches_;
  }
  int64_t BatchGranularity() const override { return launches_; }
  Result<Verdict> Verify() final;
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;
  Status RunUntimed(int64_t iterations) override;
  Result<Verdict> VerifyLast() override;

  // Returns the output of the latest iteration. Tests corrupt it to see VerifyLast fail.
  OutputRange LastOutput() { return Output(rotation_.last()); }

 protected:
  // Prepares everything that the first iteration needs. Usually calls AddArray for each array, then
  // AllocateSets, and then fills the inputs of every set. Also makes any CUDA calls that cannot be
  // captured into a graph, such as cudaFuncSetAttribute and the creation of handles. The GPU is
  // current during the call.
  virtual Status SetUp() = 0;
  // Enqueues one iteration on stream(), using the buffers of `set`. May be called while a CUDA
  // graph is being captured, so implementations must neither synchronize nor allocate.
  virtual Status Enqueue(int64_t set) = 0;
  // Returns the memory that an iteration on `set` writes. Before each verification, it is filled
  // with 0xff bytes, which are NaN in every floating-point type, to expose elements that the
  // kernel does not write.
  virtual OutputRange Output(int64_t set) = 0;
  // Compares the output of `set` with the reference. The GPU is current.
  virtual Result<Verdict> Check(int64_t set) = 0;

  // Adds an array of `bytes` bytes to every set of buffers. Returns the array's number, for use
  // with Array(). Must be called before AllocateSets.
  int AddArray(int64_t bytes);
  // Allocates the arrays added with AddArray: one set for a hot cache, or for a cold cache, enough
  // sets to add up to at least `l2_multiple` times the size of the L2 cache. Use 4 for streaming
  // kernels and quantized weights. If memory is short, the error message uses `what` to name the
  // arrays, such as "Q, K, V and O of 4 x 16 x 4096 x 128".
  Status AllocateSets(const std::string& what, int l2_multiple = 2);
  // Returns array `number` of `set`, aligned to 256 bytes.
  template <typename T>
  T* Array(int64_t set, int number) const {
    return static_cast<T*>(memory_.At(set * set_bytes_ + offsets_[static_cast<size_t>(number)]));
  }
  int64_t sets() const { return rotation_.sets(); }

  const GpuDevice& device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  uint64_t seed() const { return seed_; }
  bool zeros() const { return zeros_; }
  bool cold() const { return cold_; }
  bool graph() const { return graph_mode_; }
  EventTimer& timer() { return timer_; }

 private:
  // Launches one iteration, or one replay of launches_ iterations.
  Status Launch();
  Status CaptureGraph();
  Status Poison(int64_t set);

  const int gpu_;
  const uint64_t seed_;
  const bool has_cache_;  // True if the benchmark has a parameter "cache".
  const bool cold_;
  const bool zeros_;
  const bool graph_mode_;
  GpuDevice device_;
  CudaStream stream_;
  std::vector<int64_t> offsets_;  // Offsets of the arrays within a set.
  int64_t set_bytes_ = 0;
  DeviceBuffer memory_;
  Rotation rotation_;
  EventTimer timer_;
  int64_t launches_ = 1;  // Iterations per launch.
  CudaGraph captured_;    // Not launched any more when memory_ is freed.
};

}  // namespace assay
