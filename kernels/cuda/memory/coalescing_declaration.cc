// Declares the coalescing benchmark, in which each lane of a warp reads the word that is `stride`
// words after the previous lane's. GPU memory transfers whole sectors of 32 bytes, so the larger
// the stride, the less of each sector is used. With a stride of 8 words or more, every lane needs
// its own sector.
#include <algorithm>

#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

constexpr int64_t kSectorWords = 8;

Work CoalescingWork(const ParameterMap& parameters, int) {
  const double elements = Number(parameters, "elements");
  const int64_t moved = std::min(Integer(parameters, "stride"), kSectorWords);
  Work work;
  work.bytes = 4 * elements * static_cast<double>(moved + 1);
  work.traffic = moved >= 4 ? Traffic::kRead : Traffic::kCopy;
  work.payload_bytes = 8 * elements;
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

// Returns the work of copying 1024 words. The sectors that must be read contain `moved` times as
// many words.
Work Of1024Words(double moved, Traffic traffic) {
  return {.bytes = 4 * 1024 * (moved + 1),
          .traffic = traffic,
          .payload_bytes = 2 * 4 * 1024,
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration CoalescingDeclaration() {
  return Declaration("coalescing", Resource::kGpu)
      .Summary("reads of words a stride apart: useful and moved bytes")
      .Parameters({
          Parameter::Integer("stride").Default(1).AtLeast(1).AtMost(1024).Describe(
              "words of 4 bytes from one lane's word to the next lane's"),
          Parameter::Integer("elements")
              .Default(33554432)
              .AtLeast(1)
              .AtMost(int64_t{1} << 34)
              .Describe("words that are read"),
          CacheParameter("one set of arrays"),
          LaunchParameter(),
      })
      .Metrics({
          Metric::Rate("useful_bandwidth", "GB/s", Quantity::kPayloadBytes,
                       "bytes per second that the kernel asks for and writes"),
          Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                       "bytes per second of the 32-byte sectors that hold them"),
      })
      .Model(
          "bytes = 4 x elements x (min(stride, 8) + 1), in sectors of 32; time = bytes / bandwidth "
          "+ 2.5 us (0.6 us in a graph), more where memory moves larger pieces than a sector")
      .WorkOf(CoalescingWork)
      .SelfTest({{"stride", "5"}, {"elements", "98433"}})
      .Example({{"elements", "1024"}, {"stride", "1"}}, Of1024Words(1, Traffic::kCopy))
      .Example({{"elements", "1024"}, {"stride", "2"}}, Of1024Words(2, Traffic::kCopy))
      // Only one word is written for each sector that is read, so nearly all traffic is reads.
      .Example({{"elements", "1024"}, {"stride", "8"}}, Of1024Words(8, Traffic::kRead))
      .Example({{"elements", "1024"}, {"stride", "32"}}, Of1024Words(8, Traffic::kRead))
      .Example({{"elements", "1"}, {"launch", "graph"}},
               {.bytes = 8, .payload_bytes = 8, .fixed_seconds = kGraphLaunchSeconds})
      .Refuses({{"stride", "1025"}}, "stride")
      .Refuses({{"elements", "0"}}, "elements");
}

}  // namespace assay
