// Declares the cpu_gemm benchmark: the product C = A B of row-major matrices, computed by OpenBLAS.
#include "kernels/cpu/threads_parameter.h"

namespace assay {
namespace {

Parameter Extent(const std::string& name) {
  return Parameter::Integer(name).Default(2048).AtLeast(1).AtMost(65536);
}

Work CpuGemmWork(const ParameterMap& parameters, int) {
  const double m = Number(parameters, "m");
  const double n = Number(parameters, "n");
  const double k = Number(parameters, "k");
  const bool fp64 = Word(parameters, "dtype") == "fp64";
  Work work;
  work.flops = 2 * m * n * k;
  work.peak = fp64 ? Peak::kFp64Vector : Peak::kFp32;
  work.bytes = (fp64 ? 8 : 4) * (m * k + k * n + m * n);
  return work;
}

}  // namespace

Declaration CpuGemmDeclaration() {
  return Declaration("cpu_gemm", Resource::kCpu)
      .Summary("matrix product C = A B on the CPUs (OpenBLAS)")
      .Needs(Library::kBlas)
      .Parameters({
          Extent("m").Describe("rows of A and C"),
          Extent("n").Describe("columns of B and C"),
          Extent("k").Describe("columns of A, rows of B"),
          Parameter::Choice("dtype", {"fp32", "fp64"}).Describe("type of the elements"),
          ThreadsParameter(),
          Parameter::Choice("cache", {"cold", "hot"})
              .Describe("cold: matrices rotate past the last-level cache (hot if that cache's size "
                        "is unknown)"),
      })
      .Metrics({Metric::Rate("gflops", "GFLOP/s", Quantity::kFlops, "arithmetic rate")})
      .Model(
          "flops = 2 m n k; bytes = size (m k + k n + m n); predicted time from the CPU's own "
          "measured ceilings: max(flops / multiply-add rate, bytes / read bandwidth)")
      .WorkOf(CpuGemmWork)
      .SelfTest({{"m", "128"}, {"n", "96"}, {"k", "160"}})
      // A has 21 elements, B has 35 and C has 15.
      .Example({{"m", "3"}, {"n", "5"}, {"k", "7"}, {"dtype", "fp32"}},
               {.flops = 210, .peak = Peak::kFp32, .bytes = (21 + 35 + 15) * 4})
      .Example({{"m", "3"}, {"n", "5"}, {"k", "7"}, {"dtype", "fp64"}},
               {.flops = 210, .peak = Peak::kFp64Vector, .bytes = (21 + 35 + 15) * 8})
      .Refuses({{"dtype", "bf16"}}, "dtype");
}

}  // namespace assay
