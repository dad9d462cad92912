// Declares the host_transfer benchmark, in which the GPU's copy engines copy data between host and
// GPU memory.
#include "kernels/cuda/links/link_parameters.h"

namespace assay {

Declaration HostTransferDeclaration() {
  return Declaration("host_transfer", Resource::kGpu)
      .Summary("copies between host and GPU memory, in one direction or both at once")
      .Parameters({
          Parameter::Choice("direction", {"h2d", "d2h", "bidirectional"})
              .Describe("h2d: host to device; d2h: device to host; bidirectional: both at once"),
          Parameter::Choice("memory", {"pinned", "pageable"})
              .Describe("host memory. pinned: locked, accessed by the GPU directly; pageable: "
                        "through the driver's buffers"),
          NumaParameter(),
          TransferBytesParameter("256MiB", int64_t{1} << 40),
      })
      .Metrics(TransferMetrics("h2d_bandwidth", "bytes copied to the device per second",
                               "d2h_bandwidth", "bytes copied to the host per second"))
      .Model(
          "an iteration copies bytes in one direction, or in each; time = bytes / bandwidth of the "
          "link, at most 63 GB/s per direction on PCIe 5.0 x16")
      .WorkOf([](const ParameterMap& parameters, int) {
        return TransferWork(parameters, LinkKind::kPcie);
      })
      .SelfTest({{"direction", "bidirectional"}, {"bytes", "1000003"}})
      .Example({{"bytes", "1000"}},
               {.link_bytes = 1000, .link = LinkKind::kPcie, .payload_bytes = 1000})
      .Example({{"bytes", "1000"}, {"direction", "bidirectional"}},
               {.link_bytes = 1000, .link = LinkKind::kPcie, .payload_bytes = 2000})
      .Refuses({{"bytes", "0"}}, "bytes");
}

}  // namespace assay
