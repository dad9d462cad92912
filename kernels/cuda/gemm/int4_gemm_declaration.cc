// Declares the int4_gemm benchmark: y = x W with a matrix W of 4-bit integers. As is common in LLM
// serving, groups of adjacent integers share a scale and a zero point.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

// Above this, checking every element in fp64 takes minutes.
constexpr double kMaxFlops = 4e14;
constexpr int64_t kMaxSide = 1 << 20;

double FlopsOf(const ParameterMap& parameters) {
  return 2 * Number(parameters, "m") * Number(parameters, "n") * Number(parameters, "k");
}

Work Int4GemmWork(const ParameterMap& parameters, int) {
  const double m = Number(parameters, "m");
  const double n = Number(parameters, "n");
  const double k = Number(parameters, "k");
  const bool fused = Word(parameters, "variant") == "fused";
  Work work;
  work.flops = FlopsOf(parameters);
  work.peak = Peak::kBf16;
  // 4 bits per weight, and a scale and a zero point of 16 bits each per group.
  work.payload_bytes = n * k / 2 + n * k / std::stod(Word(parameters, "group")) * 4;
  work.bytes = work.payload_bytes + 2 * (m * k + m * n);
  if (!fused) work.bytes += 4 * n * k;  // Dequantized weights are written and read again.
  work.traffic = Traffic::kRead;
  work.fixed_seconds = LaunchSeconds(parameters) * (fused ? 1 : 2);
  return work;
}

Status ValidateInt4Gemm(const ParameterMap& parameters) {
  if (FlopsOf(parameters) <= kMaxFlops) return Status::Ok();
  return InvalidParameter(
      "k", "is " + Word(parameters, "k") +
               "; with m and n that is more than 4e14 FLOPs, 2 m n k, too many to verify");
}

// m = 3, n = 64, k = 128. Half a byte per weight, and 4 bytes for each of a column's two groups.
constexpr double kWeightBytes = 64 * 128 / 2 + 64 * 2 * 4;

ParameterMap Int4ExampleOf(const char* variant) {
  return {{"m", "3"}, {"n", "64"}, {"k", "128"}, {"group", "64"}, {"variant", variant}};
}

Work ExampleWork(double more_bytes, int kernels) {
  return {.flops = 2 * 3 * 64 * 128,
          .peak = Peak::kBf16,
          .bytes = kWeightBytes + (3 * 128 + 3 * 64) * 2 + more_bytes,
          .traffic = Traffic::kRead,
          .payload_bytes = kWeightBytes,
          .fixed_seconds = kernels * kStreamLaunchSeconds};
}

}  // namespace

Declaration Int4GemmDeclaration() {
  return Declaration("int4_gemm", Resource::kGpu)
      .Version(2)
      .Summary("y = x W with 4-bit weights, unpacked on the way or dequantised beforehand")
      .Parameters({
          Parameter::Choice("variant", {"fused", "naive"})
              .Describe(
                  "fused: unpacked in registers; naive: dequantised to memory, then cuBLASLt"),
          Parameter::Integer("m").Default(1).AtLeast(1).AtMost(1 << 16).Describe("rows of x and y"),
          Parameter::Integer("n").Default(8192).AtLeast(1).AtMost(kMaxSide).Describe(
              "columns of W and y"),
          Parameter::Integer("k")
              .Default(8192)
              .AtLeast(64)
              .AtMost(kMaxSide)
              .MultipleOf(64)
              .Describe("columns of x, rows of W")
              .With("group", {"128"}, MultipleOf(128), "groups are whole"),
          Parameter::Choice("group", {"128", "64", "32"})
              .Describe("neighbours along k that share a scale and a zero point"),
          DtypeParameter({"bf16", "fp16"}),
          CacheParameter("one set of x, W and y"),
          LaunchParameter(),
      })
      .Metrics({
          Metric::Rate("bandwidth", "GB/s", Quantity::kPayloadBytes,
                       "bytes of packed weights, scales and zero points per second"),
          Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                       "multiplications and additions per second"),
      })
      .Model(
          "FLOPs = 2 m n k; weight bytes = n k / 2 + 4 n k / group; bytes = weight bytes + 2 (m k "
          "+ m n), naive also 4 n k; time = max(FLOPs / peak, bytes / read bandwidth) + 2.5 us "
          "(0.6 us in a graph), naive twice that")
      .WorkOf(Int4GemmWork)
      .Validate(ValidateInt4Gemm)
      .SelfTest({{"m", "3"}, {"n", "333"}, {"k", "1088"}, {"group", "64"}})
      // Few rows, as when a language model serves one user.
      .SelfTestAlso({{"m", "1"}, {"k", "6272"}, {"group", "128"}})
      .Example(Int4ExampleOf("fused"), ExampleWork(0, 1))
      // 16 bits per weight are written and read again, by an additional kernel.
      .Example(Int4ExampleOf("naive"), ExampleWork(2 * 64 * 128 * 2, 2))
      .Refuses({{"k", "8256"}}, "k")
      .Refuses({{"k", "100"}, {"group", "32"}}, "k")
      .Refuses({{"m", "65536"}, {"n", "1048576"}}, "k");
}

}  // namespace assay
