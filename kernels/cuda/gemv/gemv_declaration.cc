// Declares the gemv benchmark: y = x W', where x has only a few rows, as when a language model
// generates tokens. W' is the transpose of W. Each weight is read once and used only once per row
// of x, so memory bandwidth limits the speed.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

constexpr int kMaxRows = 128;

Work GemvWork(const ParameterMap& parameters, int) {
  const double m = Number(parameters, "m");
  const double n = Number(parameters, "n");
  const double k = Number(parameters, "k");
  const std::string& dtype = Word(parameters, "dtype");
  const auto element_bytes = static_cast<double>(ElementBytes(dtype));
  return {.flops = 2 * m * n * k,
          .peak = dtype == "fp32" ? Peak::kFp32 : Peak::kBf16,
          .bytes = (n * k + m * k + m * n) * element_bytes,
          .traffic = Traffic::kRead,
          .payload_bytes = n * k * element_bytes,
          .fixed_seconds = LaunchSeconds(parameters)};
}

// Returns the parameters of an example with m = 2, n = 64 and k = 128.
ParameterMap GemvExampleOf(const char* dtype) {
  return {{"m", "2"}, {"n", "64"}, {"k", "128"}, {"dtype", dtype}};
}

Work ExampleWork(double element_bytes, Peak peak) {
  return {.flops = 2 * 2 * 64 * 128,
          .peak = peak,
          .bytes = (2 * 128 + 64 * 128 + 2 * 64) * element_bytes,
          .traffic = Traffic::kRead,
          .payload_bytes = 64 * 128 * element_bytes,
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration GemvDeclaration() {
  return Declaration("gemv", Resource::kGpu)
      .Summary("y = x W' for a few rows of x: reads every weight once")
      .Parameters({
          Parameter::Integer("m").Default(1).AtLeast(1).AtMost(kMaxRows).Describe(
              "rows of x and y"),
          Parameter::Integer("n").Default(8192).AtLeast(1).AtMost(1 << 20).Describe(
              "rows of W, columns of y"),
          Parameter::Integer("k").Default(8192).AtLeast(1).AtMost(1 << 20).Describe(
              "columns of x and of W"),
          DtypeParameter({"bf16", "fp16", "fp32"}),
          FillParameter(),
          CacheParameter("one set of x, W and y"),
          LaunchParameter(),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kPayloadBytes,
                       "bytes of weights, n k elements, per second"),
          Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                       "multiplications and additions per second"),
      })
      .Model(
          "FLOPs = 2 m n k; bytes = (n k + m k + m n) x element size; time = max(FLOPs / peak, "
          "bytes / read bandwidth) + 2.5 us (0.6 us in a graph)")
      .WorkOf(GemvWork)
      .SelfTest({{"m", "5"}, {"n", "333"}, {"k", "1096"}})
      .Example(GemvExampleOf("fp16"), ExampleWork(2, Peak::kBf16))
      .Example(GemvExampleOf("fp32"), ExampleWork(4, Peak::kFp32))
      .Refuses({{"m", "129"}}, "m");
}

}  // namespace assay
