// Declares the cpu_vector_sum benchmark, which repeatedly computes the sum of an array. If the
// array fits in the L1 cache, the speed is limited by the CPU's vector units. Otherwise, it is
// limited by the bandwidth of a larger cache or of memory.
#include "kernels/cpu/threads_parameter.h"
#include "kernels/cpu/vector_sum_size.h"

namespace assay {
namespace {

Work CpuVectorSumWork(const ParameterMap& parameters, int) {
  const VectorSumSize size = VectorSumSizeOf(parameters);
  Work work;
  work.flops = static_cast<double>(size.passes) * static_cast<double>(size.elements);
  work.peak = Peak::kFp64Vector;
  work.bytes = 8 * work.flops;
  work.traffic = Traffic::kRead;
  return work;
}

// Returns the work of an iteration with `additions` additions. Each thread performs at least 2^25
// of them, which means reading 256 MiB.
Work OfAdditions(double additions) {
  return {.flops = additions,
          .peak = Peak::kFp64Vector,
          .bytes = 8 * additions,
          .traffic = Traffic::kRead};
}

}  // namespace

Declaration CpuVectorSumDeclaration() {
  return Declaration("cpu_vector_sum", Resource::kCpu)
      .Version(2)  // 2: an iteration reads at least 256 MiB per thread.
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
          Parameter::Boolean("per_thread")
              .Describe("false: the threads divide one array; true: each thread has an array of "
                        "this length"),
          ThreadsParameter(),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kBytes, "bytes read per second"),
          Metric::Rate("gflops", "GFLOP/s", Quantity::kFlops, "additions per second"),
      })
      .Model(
          "an iteration reads the array again and again until each thread has read 256 MiB; FLOPs "
          "= elements x passes; bytes = 8 x FLOPs; predicted time from the machine's own measured "
          "read bandwidth and multiply-add rate, none if the array stays in the caches")
      .WorkOf(CpuVectorSumWork)
      .SelfTest({{"elements", "100003"}})
      // 2^25 additions need 2^25 / 2048 passes.
      .Example({{"elements", "2048"}, {"threads", "1"}}, OfAdditions(33554432))
      // 33555 is the smallest number of passes with at least 2^25 additions.
      .Example({{"elements", "1000"}, {"threads", "1"}}, OfAdditions(33555 * 1000.0))
      .Example({{"elements", "2048"}, {"threads", "3"}}, OfAdditions(3 * 33554432.0))
      .Example({{"elements", "2048"}, {"threads", "3"}, {"per_thread", "true"}},
               OfAdditions(3 * 33554432.0))
      .Example({{"elements", "40000000"}, {"threads", "2"}}, OfAdditions(80000000))
      .Example({{"elements", "40000000"}, {"threads", "2"}, {"per_thread", "true"}},
               OfAdditions(80000000))
      .Refuses({{"elements", "0"}}, "elements");
}

}  // namespace assay
