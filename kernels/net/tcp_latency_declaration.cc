// Declares the tcp_latency benchmark, which measures the round-trip time of a message between two
// nodes over TCP, from rank 0 to rank 1 and back.
#include "kernels/declaration.h"

namespace assay {
namespace {

Work TcpLatencyWork(const ParameterMap& parameters, int /*world_size*/) {
  Work work;
  work.payload_bytes = Number(parameters, "bytes");
  work.link_bytes = work.payload_bytes;
  work.link = LinkKind::kNetwork;
  return work;
}

}  // namespace

Declaration TcpLatencyDeclaration() {
  return Declaration("tcp_latency", Resource::kNetwork)
      .Summary("a message between two nodes over TCP, there and back")
      .Collective()
      .Parameters({
          Parameter::Integer("ranks").Default(2).AtLeast(2).AtMost(2).Describe(
              "nodes: rank 0 and rank 1"),
          Parameter::Bytes("bytes").Default(1).AtLeast(1).AtMost(1 << 20).Describe(
              "size of the message"),
          Parameter::Choice("wait", {"sleep", "spin"})
              .Describe("how both ends wait for a message: sleep (the system wakes them) or spin "
                        "(a CPU asks again and again; each rank of a host needs one)"),
      })
      .Metrics({
          Metric::Time("round_trip", "us", Quantity::kSeconds,
                       "from sending a message until the answer has arrived"),
          Metric::Observed("round_trip_p99", "us", Direction::kLowerIsBetter,
                           "the 99th percentile of the round trips within about 50 ms"),
      })
      .Model(
          "a round trip takes the network's latency and the bytes over its bandwidth, twice, and "
          "with wait=sleep waking a thread at either end")
      .WorkOf(TcpLatencyWork)
      .SelfTest({{"bytes", "1001"}})
      .Example({{"bytes", "64"}},
               {.link_bytes = 64, .link = LinkKind::kNetwork, .payload_bytes = 64})
      .Refuses({{"ranks", "3"}}, "ranks");
}

}  // namespace assay
