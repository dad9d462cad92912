// Declares the cache_bandwidth benchmark. It measures how fast all multiprocessors together can
// read a working set repeatedly from one level of memory (L1, L2, shared or GPU memory). It can
// also measure how fast they read operands from registers.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/memory/cache_levels.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

constexpr int64_t kVectorBytes = 16;
constexpr double kGiB = 1024.0 * 1024 * 1024;

Work CacheBandwidthWork(const ParameterMap& parameters, int) {
  const int64_t bytes = Integer(parameters, "bytes");
  const CacheLevel level = CacheLevelOf(Word(parameters, "level"));
  Work work;
  work.fixed_seconds = LaunchSeconds(parameters);
  if (level == CacheLevel::kRegisters) {
    work.flops = 2.0 * kRegisterFmas;
    work.peak = Peak::kFp32;
    work.payload_bytes = static_cast<double>(kRegisterFmas * kFmaOperandBytes);
    return work;
  }
  work.payload_bytes = static_cast<double>(CachePasses(bytes) * bytes);
  work.traffic = Traffic::kRead;
  if (level == CacheLevel::kMemory) work.bytes = work.payload_bytes;
  if (level == CacheLevel::kL1 || level == CacheLevel::kShared) {
    work.sm_amount = work.payload_bytes;
    work.sm_rate = SmRate::kSharedBytes;
  }
  return work;
}

// The work of reading 8 GiB in total from the multiprocessors' own memories.
const Work kPrivateReads = {.traffic = Traffic::kRead,
                            .payload_bytes = 8 * kGiB,
                            .sm_amount = 8 * kGiB,
                            .sm_rate = SmRate::kSharedBytes,
                            .fixed_seconds = kStreamLaunchSeconds};

}  // namespace

Declaration CacheBandwidthDeclaration() {
  return Declaration("cache_bandwidth", Resource::kGpu)
      .Summary("read bandwidth of L1, L2, memory, shared memory and registers, all multiprocessors")
      .Parameters({
          Parameter::Choice("level", {"none", "l2", "l1", "hbm", "shared", "registers"})
              .Describe(
                  "none: all multiprocessors read one working set, bypassing their L1, wherever it "
                  "is; l2 and hbm: the same, refused if the working set is larger than the L2, or "
                  "below 8 times it; l1: each multiprocessor reads its own working set through its "
                  "L1, at most as large; shared: each from its shared memory; registers: the "
                  "operands of fused multiply-adds (fp32), and `bytes` is not used"),
          Parameter::Bytes("bytes")
              .Default("16MiB")
              .AtLeast(kVectorBytes)
              .AtMost(int64_t{1} << 39)
              .MultipleOf(kVectorBytes)
              .Describe("working set: of all, or for l1 and shared of each multiprocessor, where "
                        "the default is too large; with level none, a set larger than the L2 shows "
                        "the memory behind it")
              .With("level", {"l1", "shared"}, AtMost(kLargestL1), kLargestL1Reason),
          LaunchParameter(),
      })
      .Metrics(
          {Metric::Rate("bandwidth", "GB/s", Quantity::kPayloadBytes, "bytes read per second")})
      .Model(
          "an iteration reads the working set until 8 GiB have been read; with level registers, it "
          "has 2^35 fused multiply-adds, each of which reads three registers of 4 bytes per "
          "thread; successive ones share one of the three")
      .Prediction(
          "level hbm: predicted = bytes / the sheet's memory bandwidth + 2.5 us (0.6 us in a "
          "graph); l1 and shared: bytes / (128 per clock and multiprocessor x the clock that the "
          "sheet's fp32 peak assumes) + the same, because 32 banks serve 4 bytes each per clock "
          "(CUDA C++ Programming Guide); registers: bytes / (6 x the sheet's fp32 peak) + the "
          "same, because a multiply-add is 2 FLOP and reads 12 bytes (128 lanes x 12 = 1536 bytes "
          "per "
          "clock and multiprocessor on an H100); l2 and none: none, because no spec sheet gives "
          "the L2's bandwidth. Efficiency: the first term over the median time.")
      .WorkOf(CacheBandwidthWork)
      .SelfTest({{"bytes", "1000016"}})
      .SelfTestAlso({{"level", "registers"}})
      .Example({{"level", "l1"}, {"bytes", "65536"}}, kPrivateReads)
      .Example({{"level", "shared"}, {"bytes", "65536"}}, kPrivateReads)
      // 8590 is the smallest number of passes that read at least 8 GiB.
      .Example({{"level", "l2"}, {"bytes", "1000016"}}, {.traffic = Traffic::kRead,
                                                         .payload_bytes = 8590 * 1000016.0,
                                                         .fixed_seconds = kStreamLaunchSeconds})
      .Example({{"level", "hbm"}, {"bytes", "5GiB"}}, {.bytes = 10 * kGiB,
                                                       .traffic = Traffic::kRead,
                                                       .payload_bytes = 10 * kGiB,
                                                       .fixed_seconds = kStreamLaunchSeconds})
      // 2^35 multiply-adds with operands of 12 bytes read 384 GiB.
      .Example({{"level", "registers"}}, {.flops = 68719476736,
                                          .peak = Peak::kFp32,
                                          .payload_bytes = 384 * kGiB,
                                          .fixed_seconds = kStreamLaunchSeconds})
      // The default working set is larger than the L1 cache of any GPU.
      .Refuses({{"level", "l1"}}, "bytes")
      .Refuses({{"level", "shared"}}, "bytes");
}

}  // namespace assay
