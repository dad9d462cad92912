// ring_all_reduce: an all-reduce made of ncclSend, ncclRecv and a kernel that adds, to be
// read, and to be compared with NCCL's own.
//
// Counted as all_reduce is: each rank sends 2 (n - 1) / n of the array at least, and a ring
// sends no more. ring_schedule.h has the algorithm, ring_case.cc how it is pipelined.

#include "kernels/benchmark.h"
#include "kernels/nccl/prepare_on_rank.h"
#include "kernels/nccl/ring_case.h"

namespace assay {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;
constexpr int64_t kMaxRanks = 64;
constexpr int64_t kMaxChunks = 64;

// What a step takes beside its bytes on an H200: the start of a message's kernel, the
// sender's and the receiver's meeting, the start of the sum.
constexpr double kStepSeconds = 20e-6;

BenchmarkInfo RingInfo() {
  const std::vector<std::string> dtypes = {"fp32", "bf16", "fp16", "fp64"};
  BenchmarkInfo info;
  info.name = "ring_all_reduce";
  info.summary =
      "all-reduce around a ring by ncclSend, ncclRecv and Assay's own sums, one process a rank";
  info.resource = Resource::kGpu;
  info.collective = true;
  info.parameters = {
      {"ranks",
       ParameterType::kInteger,
       "processes, each with a GPU of its own",
       {},
       2,
       kMaxRanks,
       {}},
      {"bytes",
       ParameterType::kBytes,
       "size of each rank's array, whole elements",
       "1073741824",
       1,
       kMaxBytes,
       {},
       {},
       WholeElements(dtypes)},
      {"dtype", ParameterType::kWord, "type of the elements", "fp32", {}, {}, dtypes},
      {"chunks",
       ParameterType::kInteger,
       "messages that each of the rings cuts a step's chunk into, one being added while the next "
       "arrives; 0: what suits the size",
       "0",
       0,
       kMaxChunks,
       {}},
      {"in_place", ParameterType::kBoolean, "write over the input", "false", {}, {}, {}},
  };
  info.selftest_parameters = {{"ranks", "2"}, {"bytes", "1048580"}, {"chunks", "3"}};
  info.metrics = {
      {"bus_bandwidth", "GB/s", Direction::kHigherIsBetter,
       "bytes x 2 (n - 1) / n a second: what each rank sends", Quantity::kLinkBytes, 1e-9},
      {"algorithm_bandwidth", "GB/s", Direction::kHigherIsBetter, "bytes a second",
       Quantity::kPayloadBytes, 1e-9},
      TimeMetric()};
  info.model =
      "link bytes = bytes x 2 (n - 1) / n, in 2 (n - 1) steps of bytes / n: a reduce-scatter, then "
      "an all-gather; time = link bytes / NVLink bandwidth + 2 (n - 1) x 20 us. Sums read and "
      "write 3 (n - 1) / n x bytes of memory while messages are under way; measured efficiency is "
      "that of NCCL's all_reduce of the same array";
  return info;
}

class RingAllReduce : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override { return info_; }

  std::string UnsupportedReason() const override {
    if (std::string why = WhyNoGpu(); !why.empty()) return why;
    return WhyNoNccl();
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const override {
    Work work;
    work.payload_bytes = static_cast<double>(Integer(parameters, "bytes"));
    work.link_bytes = 2.0 * (world_size - 1) / world_size * work.payload_bytes;
    work.fixed_seconds = 2 * (world_size - 1) * kStepSeconds;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareOnRank<RingCase>(*this, context, context);
  }

 private:
  const BenchmarkInfo info_ = RingInfo();
};

}  // namespace

std::unique_ptr<Benchmark> NewRingAllReduce() { return std::make_unique<RingAllReduce>(); }

}  // namespace assay
