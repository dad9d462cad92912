// Runs the overlap benchmark: matrix multiplications and a collective, each alone and both at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "kernels/nccl/collective.h"
#include "kernels/nccl/communicator.h"
#include "kernels/nccl/launch_queue.h"
#include "kernels/nccl/move_pattern.h"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {

const Collective& OverlapCollectiveOf(const ParameterMap& parameters);
// The size of an element in bytes. Elements are bf16, the usual type of gradients and activations.
inline constexpr int64_t kOverlapElementBytes = 2;

// The times of one iteration, in seconds. Each is the time of the slowest rank.
struct OverlapTimes {
  double gemm_alone = 0;
  double collective_alone = 0;
  // The times of the multiplications and of the collective when both run at once, measured from
  // their common start.
  double gemm_beside = 0;
  double collective_beside = 0;

  double together() const;  // Until both have ended.
  // Returns the time saved by running the multiplications and the collective at once, as a
  // fraction of the shorter of their times:
  //   (gemm_alone + collective_alone - together) / min(gemm_alone, collective_alone).
  // 1 means that the shorter one adds no time, and 0 means that no time is saved. A negative value
  // means that running one after the other would be faster.
  double overlap_fraction() const;
};

// A case that measures how well matrix multiplications and a collective overlap. Each iteration
// times the multiplications alone, then the collective alone, then both at once on two streams. The
// shorter of the two is repeated so that both take about the same time. All ranks synchronize
// before each timed part that involves collectives.
class OverlapCase : public Case {
 public:
  // The parameters in `context` must have passed CheckParameters(), and `context.peers` must not be
  // null.
  explicit OverlapCase(const RunContext& context);
  ~OverlapCase() override;

  // Must be called once by all ranks, before all other methods.
  Status Prepare();

  Timing HowTimed() const override;
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }
  void AdjustRule(MeasureRule* rule) const override;
  Result<Verdict> Verify() override;
  // Returns the times of running both at once.
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;
  Result<Verdict> VerifyLast() override { return Check(); }
  std::vector<double> Observed(const std::string& name) const override;
  // Reports NCCL's choices for the collective. The number of channels is the number of
  // multiprocessors that the collective occupies.
  Result<Diagnosis> Diagnose(int64_t iterations) override;

  // Returns the output of the matrix multiplications. Tests corrupt it, and the output of the
  // collective, to check that VerifyLast() fails.
  OutputRange GemmOutput() const { return {d_.data(), d_.bytes()}; }
  OutputRange CollectiveOutput() const { return {output_.data(), OutputBytes()}; }

 private:
  enum Mark { kGemmBegin, kGemmEnd, kBegin, kEnd, kBothBegin, kBothGemmEnd, kBothEnd, kMarks };
  struct Span {
    Mark begin;
    Mark end;
  };
  // The timed intervals, in the order of the fields of OverlapTimes.
  static constexpr std::array<Span, 4> kSpans = {
      {{kGemmBegin, kGemmEnd}, {kBegin, kEnd}, {kBothBegin, kBothGemmEnd}, {kBothBegin, kBothEnd}}};
  // The CUDA events of one iteration, indexed by Mark. Not owned.
  using Marks = const cudaEvent_t*;

  Status AllocateOnThisRank();
  Status FillInputs();
  // Returns the time of one multiplication and the time of one collective on this rank, in seconds.
  Result<std::vector<double>> TimeOneOfEach();
  // Computes how many times to repeat the multiplication and the collective in an iteration. `gemm`
  // and `collective` are the durations of a single run of each, in seconds.
  void Balance(double gemm, double collective);
  Result<double> TimeOne(cudaStream_t stream, const std::function<Status()>& enqueue);
  Status MakeEvents(int64_t iterations);
  int64_t OutputBytes() const { return collective_.output_count(place_) * kOverlapElementBytes; }
  GemmOperands Operands() const { return {a_.data(), b_.data(), d_.data()}; }
  GemmInputs Inputs() const { return {seed_, false, 0, 0}; }

  Status EnqueueGemms(int64_t count);
  Status EnqueueCollectives(int64_t count);
  // Makes all ranks wait for each other on the collective's stream.
  Status Meet();
  Status EnqueueAlone(Marks marks);
  Status EnqueueTogether(Marks marks);
  Status EnqueueIterations(int64_t iterations);
  // Returns the duration of each of kSpans on this rank, in seconds, for each sample.
  Result<std::vector<double>> TimeIterations(int64_t samples, int64_t batch);
  Status Poison();
  Status Wait();
  Result<Verdict> Check();
  Result<Verdict> CheckCollective();

  const GemmShape shape_;
  const Collective& collective_;
  const int ctas_;
  const uint64_t seed_;
  const int gpu_;
  Peers& peers_;
  CollectivePlace place_;
  ReducePattern reduced_;
  MovePattern moved_;
  GpuDevice device_;
  CudaStream gemm_stream_;
  CudaStream stream_;  // For the collective, so that it does not wait for a wave of the GEMM.
  CudaEvent order_;
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer d_;
  DeviceBuffer input_;
  DeviceBuffer output_;
  DeviceBuffer meeting_;
  std::unique_ptr<LtGemm> gemm_;
  std::unique_ptr<Communicator> communicator_;
  LaunchQueue gemm_queue_;
  LaunchQueue queue_;
  int64_t gemms_ = 1;
  int64_t collectives_ = 1;
  std::vector<cudaEvent_t> events_;  // kMarks per iteration.
  std::vector<OverlapTimes> times_;  // One per sample.
};

}  // namespace assay
