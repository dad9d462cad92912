// The frame of every NCCL collective: one process a rank, every element of every rank's
// output verified before and after it was timed.
//
// An iteration is `aggregate` collectives, each on buffers of its own, in one group; the
// next one works on the next set of buffers. Times are either Assay's (GPU events, the
// slowest rank's) or nccl-tests' (the host's clock over 20 iterations, the mean of ranks).
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
  // The context's parameters have passed CanonicalParameters; it has peers.
  CollectiveCase(const Collective& collective, const RunContext& context);
  ~CollectiveCase() override;

  // To be called once, before anything else, by all ranks.
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

  // The output of the latest iteration's first collective: what a test spoils to see
  // VerifyLast fail.
  OutputRange LastOutput();

 protected:
  // Enqueued on `stream` ahead of every iteration, timed with it; may be captured. For
  // tests, which delay a rank here.
  virtual Status BeforeIteration(cudaStream_t /*stream*/) { return Status::Ok(); }

 private:
  // Where one collective's buffers are.
  struct Buffers {
    void* input = nullptr;
    void* output = nullptr;
    int64_t first = 0;  // Index of the input's first element in the pattern.
  };

  Status CheckHardware();
  Result<Rotation> PlanOnThisRank();
  Status AllocateAndFill();
  Status CaptureGraph();
  // Of the next `iterations`, on all ranks.
  Result<std::unique_ptr<CudaGraph>> Capture(int64_t iterations);
  int64_t BytesOfElements(int64_t count) const { return count * type_.bytes; }
  // The size S of all collectives of an iteration.
  int64_t IterationBytes() const;
  Buffers BuffersOf(int64_t set, int64_t piece) const;
  // The inputs of all collectives of `set`.
  Status Fill(int64_t set);
  // Fills the outputs of `set` with 0xff bytes, which no right output has; inputs stay.
  Status Poison(int64_t set);
  // Whether iterations can be checked after any number of them: reducing its own results
  // over and over, a sum leaves every type's range.
  bool Repeatable() const { return !in_place_ || !collective_.reduces; }
  // One iteration, launched as it is.
  Status Iterate();
  // One launch: an iteration, or a replay of launches_ of them.
  Status Launch();
  Status Enqueue(int64_t set);
  // Waits until another launch fits in the stream.
  Status MakeRoom();
  // The set that `iterations` more iterations, in launches, will end with.
  int64_t LastSetAfter(int64_t iterations) const;
  Status Wait(Communicator::Polling polling = Communicator::Polling::kSleep);
  // Ends on all ranks within microseconds, once all have ended what they launched before: a rank
  // that only sends is ahead of the one that receives.
  Status LineUp();
  Status TimeAsNcclTests(int64_t samples, int64_t loops, std::vector<double>* seconds);
  Status TimeInside(int64_t iterations, std::vector<double>* seconds);
  // The best bus bandwidth, in bytes a second, of a collective in place over the kProbeBytes of
  // `buffer`.
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
  int64_t input_stride_ = 0;   // Bytes from one input to the next; in place, of both.
  int64_t output_stride_ = 0;  // 0 in place.
  CudaStream stream_;
  DeviceBuffer memory_;   // Sets, one after the other: inputs, then outputs.
  DeviceBuffer barrier_;  // Of nccl_tests, one element.
  Rotation rotation_;
  EventTimer timer_;
  std::unique_ptr<Communicator> communicator_;
  LaunchQueue queue_;
  int64_t launches_ = 1;       // Iterations of a launch.
  int64_t last_set_ = 0;       // Of the latest launch.
  int64_t captured_last_ = 0;  // Of a replay.
  int64_t verified_set_ = 0;
  // Graphs go before the communicator that they captured, or stay for ever if that was aborted.
  std::unique_ptr<CudaGraph> captured_;
  // One iteration to verify where a replay cannot be, else null.
  std::unique_ptr<CudaGraph> verified_;
};

}  // namespace assay
