// Declares the overlap benchmark, which measures how much a matrix multiplication and a collective
// slow each other down when run at once, depending on how many multiprocessors NCCL may use.
#include "kernels/cuda/gemm/gemm_parameters.h"
#include "kernels/nccl/nccl_parameters.h"

namespace assay {
namespace {

constexpr int64_t kMaxOverlapRanks = 64;
constexpr int64_t kMaxOverlapBytes = int64_t{8} << 30;
constexpr int64_t kMaxCtas = 64;  // MAXCHANNELS of NCCL 2.28.

Status ValidateOverlap(const ParameterMap& parameters) {
  const bool divided = Word(parameters, "collective") != "all_reduce";
  return divided ? ValidateShares(parameters) : Status::Ok();
}

}  // namespace

Declaration OverlapDeclaration() {
  constexpr Direction kHigh = Direction::kHigherIsBetter;
  constexpr Direction kLow = Direction::kLowerIsBetter;
  return Declaration("overlap", Resource::kGpu)
      .Summary("a matrix multiplication and a NCCL collective at once, against each alone")
      .Collective()
      .Needs(Library::kCublasLt)
      .Needs(Library::kNccl)
      .Parameters({
          RanksParameter(kMaxOverlapRanks),
          GemmExtent("m", /*in_rows=*/false).Default(8192).Describe("rows of the product"),
          GemmExtent("n", /*in_rows=*/true).Default(8192).Describe("columns of the product"),
          GemmExtent("k", /*in_rows=*/true).Default(8192).Describe("length of the dot products"),
          GemmDtypeParameter(),
          Parameter::Choice("collective", {"all_reduce", "all_gather", "reduce_scatter"})
              .Describe("the collective, of bf16 elements"),
          Parameter::Bytes("bytes")
              .Default("256MiB")
              .AtLeast(2)
              .AtMost(kMaxOverlapBytes)
              .With("collective", {"all_reduce"}, MultipleOf(2))
              .Describe("size of the collective's array: each rank's (all_reduce), or the whole of "
                        "which each has a share"),
          Parameter::Integer("ctas").Default(0).AtLeast(0).AtMost(kMaxCtas).Describe(
              "thread blocks, each on a multiprocessor, that NCCL's kernels take: minCTAs and "
              "maxCTAs of the communicator; 0: NCCL's choice"),
      })
      .Metrics({
          Metric::Observed(
              "overlap_fraction", "x", kHigh,
              "(multiplications alone + collective alone - both together) / the shorter alone: 1 "
              "if it is hidden, 0 if running one after the other is as fast"),
          Metric::Observed(
              "gemm_slowdown", "x", kLow,
              "time of the multiplications while the collective runs, over their time alone"),
          Metric::Observed(
              "collective_slowdown", "x", kLow,
              "time of the collective while the multiplications run, over its time alone"),
          Metric::Observed("gemm_alone", "s", kLow, "time of the multiplications alone"),
          Metric::Observed("collective_alone", "s", kLow, "time of the collective alone"),
          Metric::Observed(
              "gemms", "calls", kLow,
              "multiplications of an iteration, so many that both sides last about as long"),
          Metric::Observed("collectives", "calls", kLow, "collectives of an iteration"),
      })
      .Model(
          "time of both together = max(gemm_alone, collective_alone) if they shared nothing, their "
          "sum if they shared all; NCCL's thread blocks take ctas of the multiprocessors from the "
          "multiplications, and both share memory bandwidth and power")
      .Prediction("none: each side is compared with its own time alone, measured in the same run")
      .Validate(ValidateOverlap)
      .SelfTest({{"ranks", "2"}, {"m", "264"}, {"n", "136"}, {"k", "520"}, {"bytes", "1048580"}})
      // The expected work is empty because it cannot be known in advance: the repetition counts
      // depend on times measured on the GPU.
      .Example({{"ranks", "4"}}, {})
      .Refuses({{"bytes", "5"}}, "bytes")
      .Refuses({{"ranks", "4"}, {"collective", "all_gather"}, {"bytes", "63"}}, "bytes")
      .Refuses({{"dtype", "int8"}, {"n", "6"}}, "n");
}

}  // namespace assay
