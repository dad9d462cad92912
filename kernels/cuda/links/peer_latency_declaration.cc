// Declares the peer_latency benchmark, which measures how long one GPU waits for a word from
// another GPU's memory.
#include "kernels/cuda/links/link_parameters.h"

namespace assay {

Declaration PeerLatencyDeclaration() {
  std::vector<ParameterSpec> parameters =
      PairParameters("that loads", "whose memory it loads from");
  parameters.push_back(ChaseBytesParameter("the other GPU's memory"));
  return Declaration("peer_latency", Resource::kGpu)
      .Summary("latency of a load from another GPU's memory")
      .Collective()
      .Parameters(parameters)
      .Metrics(ChaseMetrics())
      .Model(
          "an iteration has 4096 dependent loads of one thread: the link in both directions, and "
          "the owner's L2 or, beyond it, its memory")
      .Prediction("none: no spec sheet gives the latency of a load over NVLink")
      .WorkOf([](const ParameterMap&, int) { return ChaseWork(LinkKind::kNvlink); })
      .Validate(ValidatePair)
      .SelfTest({{"bytes", "300032"}})
      .Example({{"ranks", "2"}}, {.operations = 4096})
      .Refuses({{"ranks", "2"}, {"to", "2"}}, "to");
}

}  // namespace assay
