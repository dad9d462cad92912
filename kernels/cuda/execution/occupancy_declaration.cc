// Declares the occupancy benchmark: the throughput of a kernel that only waits for memory, as a
// function of the number of warps resident on a multiprocessor. This number depends on the block
// size, the registers per thread and the shared memory per block.
#include "kernels/cuda/execution/work_sizes.h"
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

constexpr int64_t kWarpBytes = kOccupancyRowBytes * kOccupancySteps;

Work OccupancyWork(const ParameterMap& parameters, int) {
  const double bytes = Number(parameters, "bytes");
  return {.bytes = bytes,
          .traffic = Traffic::kRead,
          .operations = bytes / kOccupancyRowBytes,
          .fixed_seconds = LaunchSeconds(parameters)};
}

}  // namespace

Declaration OccupancyDeclaration() {
  return Declaration("occupancy", Resource::kGpu)
      .Summary("throughput of dependent loads by block size, registers and shared memory")
      .Parameters({
          Parameter::Integer("block_size")
              .Default(256)
              .AtLeast(32)
              .AtMost(1024)
              .MultipleOf(32)
              .Describe("threads per block, whole warps"),
          Parameter::Choice("held_values", {"0", "32", "64", "96", "128", "192"})
              .Describe("registers that every thread holds in addition to those of the walk"),
          Parameter::Bytes("shared_bytes")
              .Default(0)
              .AtLeast(0)
              .AtMost(kLargestBlockShared)
              .Describe("shared memory that every block holds; a block of any GPU has at most "
                        "227 KiB, many GPUs have less"),
          Parameter::Bytes("bytes")
              .Default("512MiB")
              .AtLeast(kWarpBytes)
              .AtMost(int64_t{1} << 39)
              .MultipleOf(kWarpBytes)
              .Describe("rows that the warps visit, 4096 bytes per warp"),
          CacheParameter("one set of rows"),
          LaunchParameter(),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kBytes, "bytes of rows read per second"),
          Metric::Observed("theoretical_occupancy", "%", Direction::kHigherIsBetter,
                           "threads that fit on a multiprocessor at once, relative to its maximum"),
          Metric::Observed("registers", "registers", Direction::kLowerIsBetter,
                           "registers per thread, as compiled"),
      })
      .Model(
          "bandwidth = warps at once x 128 bytes / latency of memory, up to the bandwidth of "
          "memory; warps at once = multiprocessors x 64 x occupancy on most GPUs")
      .WorkOf(OccupancyWork)
      .SelfTest({{"block_size", "96"}, {"held_values", "32"}, {"bytes", "1052672"}})
      .SelfTestAlso({{"shared_bytes", "50001"}})
      // Rows of 128 bytes.
      .Example({{"bytes", "1048576"}}, {.bytes = 1048576,
                                        .traffic = Traffic::kRead,
                                        .operations = 8192,
                                        .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"block_size", "48"}}, "block_size")
      .Refuses({{"shared_bytes", "228KiB"}}, "shared_bytes")
      .Refuses({{"bytes", "5000"}}, "bytes");
}

}  // namespace assay
