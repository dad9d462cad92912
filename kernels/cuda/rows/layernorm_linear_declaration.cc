// Declares the layernorm_linear benchmark: y = LN(x) W + b, a layer normalization followed by a
// multiplication by weights.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

constexpr int64_t kMaxRows = 1 << 20;
constexpr int64_t kMaxColumns = 1 << 15;
constexpr int64_t kMaxOutputs = 1 << 17;
// The maximum number of multiplications (rows x columns x outputs). The check recomputes every
// element in fp64, which takes about a second for this many.
constexpr int64_t kMaxProducts = int64_t{1} << 40;

Work LayerNormLinearWork(const ParameterMap& parameters, int) {
  const double rows = Number(parameters, "rows");
  const double columns = Number(parameters, "columns");
  const double outputs = Number(parameters, "outputs");
  return {.flops = 2 * rows * columns * outputs,
          .peak = Peak::kBf16,
          .bytes = (rows * columns + columns * outputs + rows * outputs) * 2,
          .fixed_seconds = 2 * LaunchSeconds(parameters)};
}

Status ValidateLayerNormLinear(const ParameterMap& parameters) {
  const int64_t rows = Integer(parameters, "rows");
  const int64_t weights = Integer(parameters, "columns") * Integer(parameters, "outputs");
  if (rows <= kMaxProducts / weights) return Status::Ok();
  return InvalidParameter("rows", "is " + std::to_string(rows) +
                                      "; rows x columns x outputs must be at most " +
                                      std::to_string(kMaxProducts));
}

// x is 3 x 64, W is 64 x 16 and y is 3 x 16: 192, 1024 and 48 elements.
Work ExampleWork(double launch_seconds) {
  return {.flops = 2 * 3 * 64 * 16,
          .peak = Peak::kBf16,
          .bytes = (192 + 1024 + 48) * 2,
          .fixed_seconds = 2 * launch_seconds};
}

}  // namespace

Declaration LayerNormLinearDeclaration() {
  return Declaration("layernorm_linear", Resource::kGpu)
      .Version(2)  // 2: layernorm reads long rows ahead.
      .Summary("layer normalisation and the linear layer after it: fused or one after the other")
      .Parameters({
          Parameter::Integer("rows").Default(8192).AtLeast(1).AtMost(kMaxRows).Describe(
              "rows of x and y"),
          Parameter::Integer("columns")
              .Default(4096)
              .AtLeast(64)
              .AtMost(kMaxColumns)
              .MultipleOf(8)
              .Describe("elements that are normalised together: columns of x, rows of W"),
          Parameter::Integer("outputs")
              .Default(4096)
              .AtLeast(8)
              .AtMost(kMaxOutputs)
              .MultipleOf(8)
              .Describe("columns of W and y"),
          DtypeParameter({"bf16", "fp16"}),
          Parameter::Choice("variant", {"fused", "unfused", "library"})
              .Describe("unfused: the kernel of layernorm writes LN(x), and the kernel of "
                        "matmul_mma multiplies it; fused: a kernel writes mean and deviation of "
                        "each row, and the same product multiplies x itself, by weights that "
                        "contain gamma (folded once, before timing), and corrects its sums; "
                        "library: the kernel of layernorm, then cuBLASLt, which adds b"),
          FillParameter(),
          CacheParameter("one set of x, W and y"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                             "multiplications and additions of the product per second")})
      .Model(
          "FLOPs = 2 rows x columns x outputs; bytes = (rows x columns + columns x outputs + rows "
          "x outputs) x 2, one pass over x, W and y (unfused and library also write and read "
          "LN(x), fused reads x twice); time = max(FLOPs / peak, bytes / bandwidth) + 2 x 2.5 us "
          "(0.6 us in a graph); epsilon = 1e-5")
      .WorkOf(LayerNormLinearWork)
      .Validate(ValidateLayerNormLinear)
      .SelfTest({{"rows", "261"}, {"columns", "136"}, {"outputs", "264"}})
      .SelfTestAlso({{"dtype", "fp16"}})
      .SelfTestAlso({{"variant", "unfused"}})
      .SelfTestAlso({{"variant", "unfused"}, {"dtype", "fp16"}})
      .SelfTestAlso({{"variant", "library"}})
      .SelfTestAlso({{"variant", "library"}, {"dtype", "fp16"}})
      .Example({{"rows", "3"}, {"columns", "64"}, {"outputs", "16"}},
               ExampleWork(kStreamLaunchSeconds))
      .Example({{"rows", "3"}, {"columns", "64"}, {"outputs", "16"}, {"launch", "graph"}},
               ExampleWork(kGraphLaunchSeconds))
      .Refuses({{"columns", "4100"}}, "columns")
      .Refuses({{"outputs", "4100"}}, "outputs")
      .Refuses({{"rows", "1048576"}, {"columns", "1024"}, {"outputs", "1032"}}, "rows");
}

}  // namespace assay
