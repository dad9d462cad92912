// Declares the cpu_memory_bandwidth benchmark: the four loops of STREAM (McCalpin 1995) on fp64
// arrays. As in STREAM, the byte count covers only the arrays in the loop, not the reads that a
// cache makes before writing a line (write-allocate).
#include "kernels/cpu/caches.h"
#include "kernels/cpu/threads_parameter.h"

namespace assay {
namespace {

Work CpuMemoryBandwidthWork(const ParameterMap& parameters, int) {
  const std::string& op = Word(parameters, "op");
  const bool two_arrays = op == "copy" || op == "scale";
  Work work;
  work.payload_bytes = static_cast<double>(StreamArrayBytes(Integer(parameters, "bytes")));
  const double elements = work.payload_bytes / 8;
  if (op == "scale" || op == "add") work.flops = elements;
  if (op == "triad") work.flops = 2 * elements;
  work.peak = Peak::kFp64Vector;
  work.bytes = work.payload_bytes * (two_arrays ? 2 : 3);
  return work;
}

// Returns the work of a loop over arrays of 1000 elements of 8 bytes.
Work Of1000Elements(double flops, double bytes) {
  return {.flops = flops, .peak = Peak::kFp64Vector, .bytes = bytes, .payload_bytes = 8000};
}

}  // namespace

Declaration CpuMemoryBandwidthDeclaration() {
  return Declaration("cpu_memory_bandwidth", Resource::kCpu)
      .Version(2)  // 2: arrays no longer begin at the same place of a large page.
      .Summary("STREAM's copy, scale, add and triad on the host's memory, fp64")
      .Parameters({
          Parameter::Choice("op", {"copy", "scale", "add", "triad"})
              .Default("triad")
              .Describe("the loop"),
          Parameter::Bytes("bytes")
              .Default(0)
              .AtLeast(0)
              .AtMost(int64_t{1} << 40)
              .MultipleOf(8)
              .Describe("size of each array; 0: four times the last-level cache, at least 64 MiB"),
          ThreadsParameter(),
      })
      .Metrics({Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                             "bytes per second that the loop reads and writes")})
      .Model(
          "bytes = 2 (copy, scale) or 3 (add, triad) arrays, without write-allocate; predicted "
          "time from the machine's own measured read bandwidth")
      .WorkOf(CpuMemoryBandwidthWork)
      .SelfTest({{"bytes", "1MiB"}})
      .Example({{"op", "copy"}, {"bytes", "8000"}}, Of1000Elements(0, 16000))
      .Example({{"op", "scale"}, {"bytes", "8000"}}, Of1000Elements(1000, 16000))
      .Example({{"op", "add"}, {"bytes", "8000"}}, Of1000Elements(1000, 24000))
      .Example({{"op", "triad"}, {"bytes", "8000"}}, Of1000Elements(2000, 24000))
      .Refuses({{"bytes", "99999"}}, "bytes");
}

}  // namespace assay
