// Declares the host_latency benchmark, which measures how long the GPU waits for a word from host
// memory.
#include "kernels/cuda/links/link_parameters.h"

namespace assay {

Declaration HostLatencyDeclaration() {
  return Declaration("host_latency", Resource::kGpu)
      .Summary("latency of a load by the GPU from the host's memory")
      .Parameters({NumaParameter(), ChaseBytesParameter("the host's pinned memory")})
      .Metrics(ChaseMetrics())
      .Model(
          "an iteration has 4096 dependent loads of one thread: the link in both directions, and "
          "the host's cache or memory")
      .Prediction("none: no spec sheet gives the latency of a load over the host's link")
      .WorkOf([](const ParameterMap&, int) { return ChaseWork(LinkKind::kPcie); })
      .SelfTest({{"bytes", "300032"}})
      .Example({}, {.link = LinkKind::kPcie, .operations = 4096})
      .Refuses({{"bytes", "1000"}}, "bytes");
}

}  // namespace assay
