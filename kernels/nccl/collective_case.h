// Runs and times an NCCL collective, with one process per rank. Verifies every element of every
// rank's output before and after timing.
//
// The parameter "aggregate" is the number of collectives in an iteration. Each has its own
// buffers, and successive iterations use different ones. The "assay" policy times iterations with
// GPU events and reports the time of the slowest rank. The "nccl_tests" policy times 20
// iterations with the host's clock, as nccl-tests does, and reports the mean over the ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/rotation.h"
#include "kernels/nccl/collective.h"
#include "kernels/nccl/collective_types.h"
#include "kernels/nccl/communicator.h"
#include "kernels/nccl/launch_queue.h"
#include "kernels/nccl/move_pattern.h"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {

class CollectiveCase : public Case {
 public:
  // The parameters in `context` must have passed CheckParameters(), and `context.peers` must not be
  // null.
  CollectiveCase(const Collective& collective, const RunContext& context);
  ~CollectiveCase() override;

  // Must be called once by all ranks, before all other methods.
  Status Prepare();

  Timing HowTimed() const override;
  double MinSampleSeconds() const override;
  int64_t UntimedIterations(int64_t samples, int64_t batch) const override;
  int64_t BatchGranularity() const override;
  Result<Verdict> Verify() override;
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;
  Result<Verdict> VerifyLast() override;
  Result<Diagnosis> Diagnose(int64_t iterations) override;
  Result<Ceilings> MeasureCeilings() override;

  // Returns the output buffer of the first collective in the latest iteration. Tests corrupt it to
  // check that VerifyLast() fails.
  OutputRange LastOutput();

 protected:
  // Enqueues extra work on `stream` before every iteration. Tests override this to delay a rank.
  // The work counts toward the measured time, and must be allowed during CUDA graph capture.
  virtual Status BeforeIteration(cudaStream_t /*stream*/) { return Status::Ok(); }

 private:
  // The buffers of one collective.
  struct Buffers {
    void* input = nullptr;
    void* output = nullptr;
    int64_t first = 0;  // Index of the input's first element in the pattern.
  };

  Status CheckHardware();
  Result<Rotation> PlanOnThisRank();
  Status AllocateAndFill();
  Status CaptureGraph();
  // Captures the next `iterations` iterations as a graph. All ranks must call this.
  Result<std::unique_ptr<CudaGraph>> Capture(int64_t iterations);
  int64_t BytesOfElements(int64_t count) const { return count * type_.bytes; }
  // Returns the payload of all collectives in an iteration, in bytes.
  int64_t IterationBytes() const;
  Buffers BuffersOf(int64_t set, int64_t piece) const;
  // Fills the inputs of all collectives of `set`.
  Status Fill(int64_t set);
  // Fills the output buffers of `set` with 0xff bytes to expose elements that are never written.
  // For in-place collectives, this destroys the inputs, so they are filled again.
  Status Poison(int64_t set);
  // Returns true if the output can be verified after any number of iterations. The output of an
  // in-place reduction cannot: each iteration reduces the previous result, so the sums overflow.
  bool Repeatable() const { return !in_place_ || !collective_.reduces; }
  // Launches one iteration without a graph.
  Status Iterate();
  // Launches the captured graph of launches_ iterations. Without a graph, launches one iteration.
  Status Launch();
  Status Enqueue(int64_t set);
  // Waits until another launch fits in the stream's queue.
  Status MakeRoom();
  // Returns the set that the last of the next `iterations` iterations will use.
  int64_t LastSetAfter(int64_t iterations) const;
  Status Wait(Communicator::Polling polling = Communicator::Polling::kSleep);
  // Synchronizes all ranks, so that they start the next collective within microseconds of each
  // other. Each rank first waits for its own launches to finish. Otherwise, a rank that only
  // sends would run ahead of those that receive.
  Status LineUp();
  Status TimeAsNcclTests(int64_t samples, int64_t loops, std::vector<double>* seconds);
  Status TimeInside(int64_t iterations, std::vector<double>* seconds);
  // Runs a collective of the given kind several times, in place on the kProbeBytes bytes at
  // `buffer`. Returns the best bus bandwidth, in bytes per second.
  Result<double> Probe(CollectiveKind kind, void* buffer);
  Result<Verdict> Check(int64_t set);
  Result<Verdict> CheckBlock(const OutputBlock& block, const Buffers& buffers);

  const Collective& collective_;
  const CollectiveType& type_;
  const CollectiveOp& op_;
  const int64_t aggregate_;
  const bool in_place_;
  const bool graph_mode_;
  const bool as_nccl_tests_;
  const int gpu_;
  const int nodes_;
  Peers& peers_;
  ReducePattern reduced_;
  MovePattern moved_;
  CollectivePlace place_;
  GpuDevice device_;
  int64_t input_stride_ =
      0;  // Bytes from one input to the next; in place, also to the next output.
  int64_t output_stride_ = 0;  // 0 in place.
  CudaStream stream_;
  DeviceBuffer memory_;   // The sets: inputs, then outputs.
  DeviceBuffer barrier_;  // One element, for policy nccl_tests.
  Rotation rotation_;
  EventTimer timer_;
  std::unique_ptr<Communicator> communicator_;
  LaunchQueue queue_;
  int64_t launches_ = 1;       // Iterations per launch.
  int64_t last_set_ = 0;       // The last set of the latest launch.
  int64_t captured_last_ = 0;  // The last set of a replay.
  int64_t verified_set_ = 0;
  // The captured CUDA graph, or null. This graph and the next must be destroyed before the
  // communicator, whose calls they contain. If the communicator was aborted, they are leaked
  // instead.
  std::unique_ptr<CudaGraph> captured_;
  // A second graph, of a single iteration, for verification when the results of captured_ cannot
  // be verified. Null if not needed.
  std::unique_ptr<CudaGraph> verified_;
};

}  // namespace assay
