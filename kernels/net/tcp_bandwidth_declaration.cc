// Declares the tcp_bandwidth benchmark, which measures the throughput of TCP between two nodes,
// in one direction or both at once, over one or more connections.
#include "kernels/declaration.h"

namespace assay {
namespace {

Work TcpBandwidthWork(const ParameterMap& parameters, int /*world_size*/) {
  const double bytes = Number(parameters, "bytes");
  Work work;
  work.link_bytes = bytes;
  work.link = LinkKind::kNetwork;
  work.payload_bytes = bytes * (Word(parameters, "direction") == "bidirectional" ? 2 : 1);
  return work;
}

}  // namespace

Declaration TcpBandwidthDeclaration() {
  return Declaration("tcp_bandwidth", Resource::kNetwork)
      .Summary("what TCP carries between two nodes, over one connection or several")
      .Collective()
      .Parameters({
          Parameter::Integer("ranks").Default(2).AtLeast(2).AtMost(2).Describe(
              "nodes: rank 0 and rank 1"),
          Parameter::Choice("direction", {"unidirectional", "reverse", "bidirectional"})
              .Describe("unidirectional: rank 0 sends to rank 1; reverse: rank 1 sends; "
                        "bidirectional: both at the same time"),
          Parameter::Integer("streams").Default(1).AtLeast(1).AtMost(64).Describe(
              "TCP connections each way, each with a thread at either end"),
          Parameter::Bytes("bytes")
              .Default("64MiB")
              .AtLeast(1)
              .AtMost(int64_t{1} << 36)
              .Describe("size of a message each way, all streams together"),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kPayloadBytes,
                       "payload received per second, both ways together"),
          Metric::Rate("bit_rate", "Gbit/s", Quantity::kPayloadBytes, "the same in bits"),
          Metric::Observed("forward_bandwidth", "GB/s", Direction::kHigherIsBetter,
                           "payload that rank 1 receives per second"),
          Metric::Observed("backward_bandwidth", "GB/s", Direction::kHigherIsBetter,
                           "payload that rank 0 receives per second"),
          Metric::Observed(
              "retransmits", "segments", Direction::kLowerIsBetter,
              "segments sent again per iteration, as the kernel counts them (TCP_INFO)"),
      })
      .Model(
          "messages follow each other without a pause; time = bytes / bandwidth of the path. "
          "Payload only: with an MTU of 1500 headers take 5 percent of an Ethernet's rate")
      .WorkOf(TcpBandwidthWork)
      .SelfTest({{"direction", "bidirectional"}, {"streams", "3"}, {"bytes", "1000003"}})
      .Example({{"bytes", "1000"}},
               {.link_bytes = 1000, .link = LinkKind::kNetwork, .payload_bytes = 1000})
      .Example({{"bytes", "1000"}, {"direction", "bidirectional"}},
               {.link_bytes = 1000, .link = LinkKind::kNetwork, .payload_bytes = 2000})
      .Refuses({{"streams", "65"}}, "streams");
}

}  // namespace assay
