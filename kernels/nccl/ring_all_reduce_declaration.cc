// Declares the ring_all_reduce benchmark: an all-reduce built from ncclSend, ncclRecv and an
// addition kernel, for comparison with NCCL's own. Its algorithm is meant to be easy to read.
//
// Each rank sends 2 (n - 1) / n of the array, the minimum for an all-reduce. See ring_schedule.h
// for the algorithm and ring_case.cc for the pipeline.
#include "kernels/nccl/nccl_parameters.h"
#include "kernels/nccl/ring_schedule.h"

namespace assay {
namespace {

constexpr int64_t kMaxRingRanks = 64;
constexpr int64_t kMaxChunks = 64;

// The fixed time of one step on an H200, in seconds, excluding the data transfer. Covers launching
// NCCL's kernel, synchronizing sender and receiver, and launching the addition kernel.
constexpr double kRingStepSeconds = 20e-6;

Work RingAllReduceWork(const ParameterMap& parameters, int ranks) {
  Work work;
  work.payload_bytes = Number(parameters, "bytes");
  work.link_bytes = 2.0 * (ranks - 1) / ranks * work.payload_bytes;
  work.fixed_seconds = RingPlace{ranks}.steps() * kRingStepSeconds;
  return work;
}

}  // namespace

Declaration RingAllReduceDeclaration() {
  const std::vector<std::string> dtypes = {"fp32", "bf16", "fp16", "fp64"};
  return Declaration("ring_all_reduce", Resource::kGpu)
      .Summary(
          "all-reduce around a ring by ncclSend, ncclRecv and Assay's own sums, one process a rank")
      .Collective()
      .Needs(Library::kNccl)
      .Parameters({
          RanksParameter(kMaxRingRanks),
          WholeArrayParameter(dtypes),
          Parameter::Choice("dtype", dtypes).Describe("type of the elements"),
          Parameter::Integer("chunks")
              .Default(0)
              .AtLeast(0)
              .AtMost(kMaxChunks)
              .Describe("messages that each of the rings cuts a step's chunk into, one being added "
                        "while the next arrives; 0: chosen by the size"),
          Parameter::Boolean("in_place").Describe("write over the input"),
      })
      .Metrics({
          Metric::Rate("bus_bandwidth", "GB/s", Quantity::kLinkBytes,
                       "bytes x 2 (n - 1) / n per second: what each rank sends"),
          Metric::Rate("algorithm_bandwidth", "GB/s", Quantity::kPayloadBytes, "bytes per second"),
      })
      .Model(
          "link bytes = bytes x 2 (n - 1) / n, in 2 (n - 1) steps of bytes / n: a reduce-scatter, "
          "then an all-gather; time = link bytes / NVLink bandwidth + 2 (n - 1) x 20 us. Sums read "
          "and write 3 (n - 1) / n x bytes of memory while messages are under way; measured "
          "efficiency is that of NCCL's all_reduce of the same array")
      .WorkOf(RingAllReduceWork)
      .SelfTest({{"ranks", "2"}, {"bytes", "1048580"}, {"chunks", "3"}})
      // On four ranks, the reduce-scatter and the all-gather have three steps each, and each step
      // sends a quarter of the array.
      .Example({{"ranks", "4"}, {"bytes", "4096"}},
               {.link_bytes = 6 * 1024, .payload_bytes = 4096, .fixed_seconds = 6 * 20e-6})
      .Refuses({{"ranks", "4"}, {"bytes", "4098"}}, "bytes")
      .Refuses({{"ranks", "1"}}, "ranks");
}

}  // namespace assay
