// Declares the memory_bandwidth benchmark: the STREAM loops on GPU memory, plus loops that only
// read or only write. Bytes are counted as in STREAM: two arrays for copy and scale, and three for
// add and triad.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/memory/stream_op.h"

namespace assay {
namespace {

constexpr int64_t kElementBytes = sizeof(float);

Work MemoryBandwidthWork(const ParameterMap& parameters, int) {
  const StreamOp op = StreamOpOf(Word(parameters, "op"));
  const double bytes = Number(parameters, "bytes");
  const double elements = bytes / kElementBytes;
  Work work;
  if (op == StreamOp::kScale || op == StreamOp::kAdd || op == StreamOp::kRead) {
    work.flops = elements;
  }
  if (op == StreamOp::kTriad) work.flops = 2 * elements;
  work.peak = Peak::kFp32;
  work.bytes = ArraysOf(op) * bytes;
  if (op == StreamOp::kRead) work.traffic = Traffic::kRead;
  if (InputsOf(op) == 0) work.traffic = Traffic::kWrite;
  work.payload_bytes = bytes;
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

// Returns the work of a loop over arrays of 1000 elements of 4 bytes.
Work Of1000Elements(double flops, double bytes, Traffic traffic) {
  return {.flops = flops,
          .peak = Peak::kFp32,
          .bytes = bytes,
          .traffic = traffic,
          .payload_bytes = 4000,
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration MemoryBandwidthDeclaration() {
  return Declaration("memory_bandwidth", Resource::kGpu)
      .Version(2)  // 2: dtype is "fp32"; a cold cache is 4x the L2 instead of 2x.
      .Summary("STREAM's loops, reads and writes on the GPU's memory, fp32")
      .Parameters({
          Parameter::Choice("op", {"copy", "scale", "add", "triad", "read", "write", "memset"})
              .Describe("copy a = b; scale a = 3 b; add a = b + c; triad a = b + 3 c; read sums of "
                        "b; write a = pattern; memset cudaMemset of a"),
          Parameter::Bytes("bytes")
              .Default("4GiB")
              .AtLeast(kElementBytes)
              .AtMost(int64_t{1} << 40)
              .MultipleOf(kElementBytes)
              .Describe("size of each array"),
          DtypeParameter({"fp32"}),
          FillParameter(),
          CacheParameter("one set of arrays"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                             "bytes per second that the loop reads and writes")})
      .Model(
          "bytes = 1 (read, write, memset), 2 (copy, scale) or 3 (add, triad) arrays, without the "
          "sums that a read writes, one of 4096 elements; time = bytes / bandwidth + 2.5 us (0.6 "
          "us in a graph)")
      .WorkOf(MemoryBandwidthWork)
      .SelfTest({{"op", "triad"}, {"bytes", "16777220"}})
      .Example({{"op", "copy"}, {"bytes", "4000"}}, Of1000Elements(0, 8000, Traffic::kCopy))
      .Example({{"op", "scale"}, {"bytes", "4000"}}, Of1000Elements(1000, 8000, Traffic::kCopy))
      .Example({{"op", "add"}, {"bytes", "4000"}}, Of1000Elements(1000, 12000, Traffic::kCopy))
      .Example({{"op", "triad"}, {"bytes", "4000"}}, Of1000Elements(2000, 12000, Traffic::kCopy))
      .Example({{"op", "read"}, {"bytes", "4000"}}, Of1000Elements(1000, 4000, Traffic::kRead))
      .Example({{"op", "write"}, {"bytes", "4000"}}, Of1000Elements(0, 4000, Traffic::kWrite))
      .Example({{"op", "memset"}, {"bytes", "4000"}}, Of1000Elements(0, 4000, Traffic::kWrite))
      .Refuses({{"bytes", "4002"}}, "bytes");
}

}  // namespace assay
