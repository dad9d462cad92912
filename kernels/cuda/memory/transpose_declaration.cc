// Declares the transpose benchmark, which transposes a row-major matrix using tiles in shared
// memory. A transposition moves as many bytes as a copy, so any extra time is due to the order of
// its memory accesses.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

Work TransposeWork(const ParameterMap& parameters, int) {
  const auto element_bytes = static_cast<double>(ElementBytes(Word(parameters, "dtype")));
  return {.bytes = 2 * Number(parameters, "rows") * Number(parameters, "columns") * element_bytes,
          .fixed_seconds = LaunchSeconds(parameters)};
}

Parameter Extent(const char* name) {
  return Parameter::Integer(name)
      .Default(16384)
      .AtLeast(1)
      .AtMost(int64_t{1} << 21)
      .Describe(std::string(name) + " of A");
}

}  // namespace

Declaration TransposeDeclaration() {
  return Declaration("transpose", Resource::kGpu)
      .Version(2)  // 2: rows of any alignment are read and written in vectors.
      .Summary("B = A' through tiles in shared memory")
      .Parameters({
          Extent("rows"),
          Extent("columns"),
          DtypeParameter({"fp32", "bf16", "fp16"}),
          CacheParameter("one set of matrices"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                             "bytes read and written per second")})
      .Model(
          "bytes = 2 x rows x columns x element size; time = bytes / bandwidth + 2.5 us (0.6 us in "
          "a graph)")
      .WorkOf(TransposeWork)
      .SelfTest({{"rows", "333"}, {"columns", "259"}})
      .SelfTestAlso({{"rows", "516"}, {"columns", "388"}})
      .SelfTestAlso({{"dtype", "bf16"}})
      .SelfTestAlso({{"dtype", "fp16"}, {"rows", "516"}, {"columns", "388"}})
      .Example({{"rows", "3"}, {"columns", "5"}},
               {.bytes = 2 * 15 * 4, .fixed_seconds = kStreamLaunchSeconds})
      .Example({{"rows", "3"}, {"columns", "5"}, {"dtype", "fp16"}, {"launch", "graph"}},
               {.bytes = 2 * 15 * 2, .fixed_seconds = kGraphLaunchSeconds})
      .Refuses({{"rows", "0"}}, "rows");
}

}  // namespace assay
