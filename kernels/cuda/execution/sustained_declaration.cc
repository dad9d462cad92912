// sustained: one large GEMM for minutes, and the effect of heat and the power limit on it.
#include "kernels/cuda/gemm/gemm_parameters.h"

namespace assay {

Declaration SustainedDeclaration() {
  constexpr Direction kHigh = Direction::kHigherIsBetter;
  constexpr Direction kLow = Direction::kLowerIsBetter;
  return Declaration("sustained", Resource::kGpu)
      .Summary("a GEMM for minutes: throughput, clock, power and temperature over time")
      .Needs(Library::kCublasLt)
      .Parameters({
          GemmExtent("n", /*in_rows=*/true)
              .Default(8192)
              .AtMost(1 << 17)
              .Describe("rows and columns of A, B (stored transposed) and D"),
          GemmDtypeParameter(),
          Parameter::Integer("seconds").Default(120).AtLeast(5).AtMost(3600).Describe(
              "length of the run in seconds"),
          FillParameter(),
          CacheParameter("one set of matrices"),
      })
      .Metrics({
          Metric::Rate(
              "tflops", "TFLOP/s", Quantity::kFlops,
              "throughput of each interval (0.1 s, or a 4000th of the run), in order of time"),
          TimeMetric(),
          Metric::Observed("steady_tflops", "TFLOP/s", kHigh,
                           "throughput in the second half of the run"),
          Metric::Observed(
              "first_minute_tflops", "TFLOP/s", kHigh,
              "throughput in the first minute, or the first half of runs shorter than two"),
          Metric::Observed(
              "time_to_throttle", "s", kHigh,
              "time until clock or throughput fell over 2% below the best of the first second, for "
              "two intervals; the length of the run if they never did"),
          Metric::Observed("flops_per_joule", "GFLOP/J", kHigh,
                           "throughput over power, of each interval"),
          Metric::Observed("sm_clock", "MHz", kHigh, "SM clock of each interval"),
          Metric::Observed("lowest_sm_clock", "MHz", kHigh, "SM clock of the slowest interval"),
          Metric::Observed("highest_sm_clock", "MHz", kHigh, "SM clock of the fastest interval"),
          Metric::Observed("power", "W", kLow, "power of each interval, as NVML averages it"),
          Metric::Observed("temperature", "C", kLow, "temperature of the GPU, of each interval"),
      })
      .Model("FLOPs = 2 n^3; bytes = 3 n^2 x element size; time = FLOPs / peak + 2.5 us")
      .WorkOf([](const ParameterMap& parameters, int) {
        return GemmWork(SustainedShapeOf(parameters), parameters);
      })
      .SelfTest({{"n", "528"}, {"seconds", "5"}})
      .Example({{"n", "64"}}, {.flops = 2 * 64 * 64 * 64,
                               .peak = Peak::kBf16,
                               .bytes = 3 * 64 * 64 * 2,
                               .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"dtype", "fp8_e4m3"}, {"n", "8200"}}, "n")
      .Refuses({{"dtype", "int8"}, {"n", "8198"}}, "n");
}

}  // namespace assay
