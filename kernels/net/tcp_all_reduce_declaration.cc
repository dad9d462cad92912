// Declares the tcp_all_reduce benchmark, a ring all-reduce of fp32 numbers between nodes over TCP.
// With several streams, the array is divided among several rings, each with its own thread.
#include "kernels/declaration.h"

namespace assay {
namespace {

Work TcpAllReduceWork(const ParameterMap& parameters, int ranks) {
  Work work;
  work.payload_bytes = Number(parameters, "bytes");
  work.link_bytes = 2.0 * (ranks - 1) / ranks * work.payload_bytes;
  work.link = LinkKind::kNetwork;
  return work;
}

}  // namespace

Declaration TcpAllReduceDeclaration() {
  return Declaration("tcp_all_reduce", Resource::kNetwork)
      .Version(2)  // 2: the threads of streams are no longer pinned.
      .Summary("ring all-reduce of fp32 between nodes over TCP")
      .Collective()
      .Parameters({
          Parameter::Integer("ranks").Default(2).AtLeast(2).AtMost(64).Describe(
              "nodes taking part"),
          Parameter::Bytes("bytes")
              .Default("16MiB")
              .AtLeast(4)
              .AtMost(int64_t{4} << 30)
              .MultipleOf(4)
              .Describe("size of the array on each rank"),
          Parameter::Integer("streams").Default(1).AtLeast(1).AtMost(64).Describe(
              "rings of TCP connections, each with a thread on every rank"),
      })
      .Metrics({
          Metric::Rate("bus_bandwidth", "GB/s", Quantity::kLinkBytes,
                       "algorithm bandwidth times 2 (n - 1) / n: what each link carries one way"),
          Metric::Rate("algorithm_bandwidth", "GB/s", Quantity::kPayloadBytes, "bytes over time"),
      })
      .Model(
          "every rank sends and receives 2 (n - 1) / n times the array; a sample is the time of "
          "the slowest rank")
      .WorkOf(TcpAllReduceWork)
      .SelfTest({{"bytes", "100004"}, {"streams", "2"}})
      // In a ring of four ranks, each rank sends 3/4 of the array in the reduce-scatter and the
      // same amount in the all-gather.
      .Example({{"ranks", "4"}, {"bytes", "4096"}},
               {.link_bytes = 2 * 3 * 1024, .link = LinkKind::kNetwork, .payload_bytes = 4096})
      .Refuses({{"bytes", "5"}}, "bytes");
}

}  // namespace assay
