#include "kernels/cuda/matmul/matmul_shape.h"

#include <utility>

#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

// Keeps indices within a row or column of tiles below 2^31.
constexpr int64_t kMaxSide = 1 << 17;

Peak PeakOf(GemmType type) { return type == GemmType::kBf16 ? Peak::kBf16 : Peak::kFp32; }

}  // namespace

GemmShape MatmulShapeOf(const ParameterMap& parameters, GemmType type) {
  GemmShape shape;
  shape.type = type;
  shape.n = Integer(parameters, "n");
  const auto side = [&](const char* name) {
    const int64_t given = Integer(parameters, name);
    return given == 0 ? shape.n : given;
  };
  shape.m = side("m");
  shape.k = side("k");
  return shape;
}

Declaration MatmulDeclaration(const std::string& name, GemmType type, const std::string& tiles,
                              int64_t multiple, std::vector<ParameterSpec> more) {
  std::vector<ParameterSpec> parameters = {
      Parameter::Integer("n")
          .Default(4096)
          .AtLeast(1)
          .AtMost(kMaxSide)
          .MultipleOf(multiple)
          .Describe("columns of D; also m and k where these are 0"),
      Parameter::Integer("m").Default(0).AtLeast(0).AtMost(kMaxSide).Describe("rows of D; 0: n"),
      Parameter::Integer("k").Default(0).AtLeast(0).AtMost(kMaxSide).MultipleOf(multiple).Describe(
          "length of the dot products; 0: n"),
  };
  for (ParameterSpec& parameter : more) parameters.push_back(std::move(parameter));
  parameters.push_back(FillParameter());
  parameters.push_back(CacheParameter("one set of matrices"));
  parameters.push_back(LaunchParameter());
  return Declaration(name, Resource::kGpu)
      .Parameters(parameters)
      .Metrics({Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                             "multiplications and additions per second")})
      .Model(
          "FLOPs = 2 m n k; bytes = (m k + k n + m n) x element size; time = max(FLOPs / peak, "
          "bytes / bandwidth) + 2.5 us (0.6 us in a graph). " +
          tiles)
      .WorkOf([type](const ParameterMap& parameters, int) {
        const GemmShape shape = MatmulShapeOf(parameters, type);
        return Work{.flops = shape.Flops(),
                    .peak = PeakOf(type),
                    .bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes()),
                    .fixed_seconds = LaunchSeconds(parameters)};
      });
}

ParameterMap MatmulExample() { return {{"n", "64"}}; }

Work MatmulExampleWork(GemmType type) {
  return {.flops = 2 * 64 * 64 * 64,
          .peak = PeakOf(type),
          .bytes = 3 * 64 * 64 * (type == GemmType::kBf16 ? 2.0 : 4.0),
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace assay
