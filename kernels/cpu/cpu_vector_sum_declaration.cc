// Declares the cpu_vector_sum benchmark: the sum of an array. If the array fits in the caches, the
// CPU's vector units limit the speed. Otherwise memory bandwidth does.
#include "kernels/cpu/threads_parameter.h"

namespace assay {
namespace {

Work CpuVectorSumWork(const ParameterMap& parameters, int) {
  Work work;
  work.flops = Number(parameters, "elements");
  work.peak = Peak::kFp64Vector;
  work.bytes = 8 * work.flops;
  work.traffic = Traffic::kRead;
  return work;
}

}  // namespace

Declaration CpuVectorSumDeclaration() {
  return Declaration("cpu_vector_sum", Resource::kCpu)
      .Summary("the sum of an array of fp64, scalar, auto-vectorised and by intrinsics")
      .Parameters({
          Parameter::Choice("variant", {"scalar", "auto", "avx2", "avx512"})
              .Default("auto")
              .Describe("scalar: one chain of additions; auto: the compiler's vectors; avx2, "
                        "avx512: intrinsics"),
          Parameter::Integer("elements")
              .Default(33554432)
              .AtLeast(1)
              .AtMost(int64_t{1} << 36)
              .Describe("length of the array"),
          ThreadsParameter(),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kBytes, "bytes read per second"),
          Metric::Rate("gflops", "GFLOP/s", Quantity::kFlops, "additions per second"),
      })
      .Model(
          "FLOPs = elements; bytes = 8 x elements; predicted time from the machine's own measured "
          "read bandwidth and multiply-add rate")
      .WorkOf(CpuVectorSumWork)
      .SelfTest({{"elements", "100003"}})
      .Example({{"elements", "1000"}},
               {.flops = 1000, .peak = Peak::kFp64Vector, .bytes = 8000, .traffic = Traffic::kRead})
      .Refuses({{"elements", "0"}}, "elements");
}

}  // namespace assay
