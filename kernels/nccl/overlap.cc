// overlap: what a matrix multiplication and a collective cost each other when they run at
// once, for the number of multiprocessors that NCCL may take.
#include <utility>

#include "kernels/benchmark.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/gemm/gemm_case.h"
#include "kernels/nccl/overlap_case.h"
#include "kernels/nccl/prepare_on_rank.h"

namespace assay {
namespace {

constexpr int64_t kMaxSide = 1 << 20;
constexpr int64_t kMaxBytes = int64_t{8} << 30;
constexpr int64_t kMaxRanks = 64;
constexpr int64_t kMaxCtas = 64;  // NCCL 2.28's MAXCHANNELS.

BenchmarkInfo OverlapInfo() {
  BenchmarkInfo info;
  info.name = "overlap";
  info.summary = "a matrix multiplication and a NCCL collective at once, against each alone";
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
      {"m", ParameterType::kInteger, "rows of the product", "8192", 1, kMaxSide, {}},
      {"n",
       ParameterType::kInteger,
       "columns of the product",
       "8192",
       1,
       kMaxSide,
       {},
       {},
       GemmMultiple()},
      {"k",
       ParameterType::kInteger,
       "length of the dot products",
       "8192",
       1,
       kMaxSide,
       {},
       {},
       GemmMultiple()},
      GemmDtypeParameter(),
      {"collective",
       ParameterType::kWord,
       "which one, of bf16 elements",
       "all_reduce",
       {},
       {},
       {"all_reduce", "all_gather", "reduce_scatter"}},
      {"bytes",
       ParameterType::kBytes,
       "size of the collective's array: each rank's (all_reduce), or the whole of which each has "
       "a share",
       "268435456",
       2,
       kMaxBytes,
       {},
       {},
       {1, "collective", {{"all_reduce", kOverlapElementBytes}}},
       {SharesLimit({{"collective", {"all_gather", "reduce_scatter"}}})}},
      {"ctas",
       ParameterType::kInteger,
       "thread blocks, each on a multiprocessor, that NCCL's kernels take: minCTAs and maxCTAs of "
       "the communicator; 0: as many as NCCL likes",
       "0",
       0,
       kMaxCtas,
       {}},
  };
  info.selftest_parameters = {
      {"ranks", "2"}, {"m", "264"}, {"n", "136"}, {"k", "520"}, {"bytes", "1048580"}};
  const auto observed = [&info](const char* name, const char* unit, Direction direction,
                                const char* description) {
    info.metrics.push_back({name, unit, direction, description, Quantity::kObserved, 1});
  };
  observed("overlap_fraction", "x", Direction::kHigherIsBetter,
           "(multiplications alone + collective alone - both together) / the shorter alone: 1 if "
           "it is hidden, 0 if running one after the other is as fast");
  observed("gemm_slowdown", "x", Direction::kLowerIsBetter,
           "time of the multiplications beside the collective, by that alone");
  observed("collective_slowdown", "x", Direction::kLowerIsBetter,
           "time of the collective beside the multiplications, by that alone");
  observed("gemm_alone", "s", Direction::kLowerIsBetter, "time of the multiplications alone");
  observed("collective_alone", "s", Direction::kLowerIsBetter, "time of the collective alone");
  observed("gemms", "calls", Direction::kLowerIsBetter,
           "multiplications of an iteration, so many that both sides last about as long");
  observed("collectives", "calls", Direction::kLowerIsBetter, "collectives of an iteration");
  info.metrics.push_back(TimeMetric());
  info.model =
      "time of both together = max(gemm_alone, collective_alone) if they shared nothing, their "
      "sum if they shared all; NCCL's thread blocks take ctas of the multiprocessors from the "
      "multiplications, and both share memory bandwidth and power";
  info.prediction = "none: each side is held against its own time alone, measured beside it";
  return info;
}

class Overlap : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override { return info_; }

  std::string UnsupportedReason() const override {
    if (std::string why = WhyNoCublasLt(); !why.empty()) return why;
    return WhyNoNccl();
  }

  // No amounts: how many multiplications and collectives an iteration has is found out on
  // the GPU.
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareOnRank<OverlapCase>(*this, context, context);
  }

 private:
  const BenchmarkInfo info_ = OverlapInfo();
};

}  // namespace

std::unique_ptr<Benchmark> NewOverlap() { return std::make_unique<Overlap>(); }

}  // namespace assay
