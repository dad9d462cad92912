// Declares the peer_transfer benchmark, which copies data between two GPUs of a node.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/links/link_parameters.h"

namespace assay {

Declaration PeerTransferDeclaration() {
  std::vector<ParameterSpec> parameters = PairParameters("that sends", "that receives");
  parameters.insert(
      parameters.end(),
      {Parameter::Choice("mode", {"write", "read"})
           .Describe("write: the sending GPU drives the copy; read: the receiving one"),
       Parameter::Choice("direction", {"unidirectional", "bidirectional"})
           .Describe("unidirectional: from `from` to `to`; bidirectional: back too, at once"),
       Parameter::Choice("engine", {"copy", "sm"})
           .Describe("copy: the GPU's copy engines (cudaMemcpyAsync); sm: a kernel that loads and "
                     "stores"),
       TransferBytesParameter("1GiB", int64_t{1} << 38)});
  return Declaration("peer_transfer", Resource::kGpu)
      .Summary("copies between two GPUs of a node, in one direction or both at once")
      .Collective()
      .Parameters(parameters)
      .Metrics(TransferMetrics("forward_bandwidth", "bytes copied per second to the GPU `to`",
                               "backward_bandwidth",
                               "bytes copied per second back to the GPU `from`"))
      .Model(
          "an iteration copies bytes in one direction, or in each; time = bytes / bandwidth of the "
          "link in one direction + 2.5 us. Payload only: an NVLink also carries headers")
      .WorkOf([](const ParameterMap& parameters, int) {
        Work work = TransferWork(parameters, LinkKind::kNvlink);
        work.fixed_seconds = kStreamLaunchSeconds;
        return work;
      })
      .Validate(ValidatePair)
      .SelfTest(
          {{"ranks", "2"}, {"direction", "bidirectional"}, {"engine", "sm"}, {"bytes", "1000003"}})
      .Example({{"ranks", "2"}, {"bytes", "1000"}},
               {.link_bytes = 1000, .payload_bytes = 1000, .fixed_seconds = kStreamLaunchSeconds})
      .Example({{"ranks", "2"}, {"bytes", "1000"}, {"direction", "bidirectional"}},
               {.link_bytes = 1000, .payload_bytes = 2000, .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"ranks", "2"}, {"from", "3"}}, "from");
}

}  // namespace assay
