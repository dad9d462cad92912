// Declares the vector_add, elementwise_mul and relu benchmarks. They perform one operation per
// element, so memory bandwidth limits their speed.
#include <utility>

#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

Declaration Elementwise(std::string name, std::string summary, int inputs) {
  const auto work = [inputs](const ParameterMap& parameters, int) {
    const double elements = Number(parameters, "elements");
    const auto element_bytes = static_cast<double>(ElementBytes(Word(parameters, "dtype")));
    return Work{.flops = elements,
                .peak = Peak::kFp32,
                .bytes = (inputs + 1) * elements * element_bytes,
                .fixed_seconds = LaunchSeconds(parameters)};
  };
  return Declaration(std::move(name), Resource::kGpu)
      .Summary(std::move(summary))
      .Parameters({
          Parameter::Integer("elements")
              .Default(268435456)
              .AtLeast(1)
              .AtMost(int64_t{1} << 36)
              .Describe("length of each array"),
          DtypeParameter({"fp32", "bf16", "fp16"}),
          Parameter::Integer("block_size")
              .Default(kElementwiseThreads)
              .AtLeast(32)
              .AtMost(1024)
              .MultipleOf(32)
              .Describe("threads per block, whole warps; each moves 16 bytes per array"),
          FillParameter(),
          CacheParameter("one set of arrays"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                             "bytes read and written per second")})
      .Model("bytes = " + std::to_string(inputs + 1) +
             " x elements x element size; time = bytes / bandwidth + 2.5 us (0.6 us in a graph)")
      .WorkOf(work)
      .SelfTest({{"elements", "98433"}})
      .SelfTestAlso({{"block_size", "1024"}})
      .Refuses({{"elements", "0"}}, "elements")
      .Refuses({{"block_size", "48"}}, "block_size");
}

Work Of1000Elements(double bytes) {
  return {
      .flops = 1000, .peak = Peak::kFp32, .bytes = bytes, .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration VectorAddDeclaration() {
  return Elementwise("vector_add", "z = x + y, element by element", 2)
      .Example({{"elements", "1000"}}, Of1000Elements(3 * 4000));
}

Declaration ElementwiseMulDeclaration() {
  return Elementwise("elementwise_mul", "z = x y, element by element", 2)
      .Example({{"elements", "1000"}, {"dtype", "bf16"}}, Of1000Elements(3 * 2000));
}

Declaration ReluDeclaration() {
  return Elementwise("relu", "y = max(x, 0), element by element", 1)
      .Example({{"elements", "1000"}}, Of1000Elements(2 * 4000));
}

}  // namespace assay
