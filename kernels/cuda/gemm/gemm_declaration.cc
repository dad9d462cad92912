// Declares the gemm benchmark: D = op(A) op(B), where op() optionally transposes a matrix. D is
// computed either by cuBLASLt, with the fastest of the algorithms that its heuristics propose, or
// by cublasGemmEx with its default algorithm. The work of a product is 2 m n k FLOPs and one pass
// over A, B and D.
#include "kernels/cuda/gemm/gemm_parameters.h"

namespace assay {
namespace {

constexpr int64_t kMaxBatch = 65535;  // Limit of the check's grid.

// The expected work of each example below, computed by hand. A is 16 x 48, B is 48 x 32 and D is
// 16 x 32, so these matrices have 768, 1536 and 512 elements.
constexpr double kFlops = 2 * 16 * 32 * 48;
constexpr double kInputs = 768 + 1536;
constexpr double kOutputs = 512;

ParameterMap GemmExampleOf(const char* dtype) {
  return {{"m", "16"}, {"n", "32"}, {"k", "48"}, {"dtype", dtype}, {"layout", "nt"}};
}

Work ExampleWork(Peak peak, double bytes) {
  return {.flops = kFlops, .peak = peak, .bytes = bytes, .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration GemmDeclaration() {
  return Declaration("gemm", Resource::kGpu)
      .Summary(
          "dense matrix multiplication by cuBLASLt, the best of its heuristics, or by cublasGemmEx")
      .Needs(Library::kCublasLt)
      .Parameters({
          GemmExtent("m", /*in_rows=*/false).Describe("rows of the output"),
          GemmExtent("n", /*in_rows=*/true).Describe("columns of the output"),
          GemmExtent("k", /*in_rows=*/true).Describe("length of the dot products"),
          Parameter::Integer("batch").Default(1).AtLeast(1).AtMost(kMaxBatch).Describe(
              "products of this size"),
          GemmDtypeParameter()
              .With("accumulate", {"fast"}, OneOf(Fp8Names()))
              .With("api", {"ex"}, OneOf(ExNames()), "cublasGemmEx multiplies no fp8"),
          Parameter::Choice("layout", {"nn", "nt", "tn", "tt"})
              .With("dtype", ByteNames(), OneOf({"nt"}), "tensor cores take 8-bit A and B along k")
              .Describe(
                  "how A (m x k) and B (k x n) are stored, row-major: n as they are, t transposed; "
                  "nn is torch.matmul(a, b), nt is torch.nn.functional.linear(a, b)"),
          Parameter::Choice("accumulate", {"fp32", "fast"})
              .Describe("where sums are kept: fp32, or, fast and with fewer bits, in the tensor "
                        "cores (use_fast_accum of torch._scaled_mm)"),
          Parameter::Choice("api", {"lt", "ex"})
              .Describe("cuBLAS's interface. lt: cublasLtMatmul with the fastest of the algorithms "
                        "that its heuristics propose; ex: cublasGemmEx (a batch: "
                        "cublasGemmStridedBatchedEx) with the algorithm that it chooses itself"),
          Parameter::Boolean("pad").Describe("each iteration copies A and B to sizes whose rows "
                                             "are whole vectors of 16 bytes, the "
                                             "rest zeros, and multiplies these, as torch.compile "
                                             "does (pad_mm) where it is faster; "
                                             "without effect where no row ends within a vector"),
          FillParameter(),
          CacheParameter("one set of matrices"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                             "multiplications and additions per second")})
      .Model(
          "FLOPs = 2 m n k x batch; bytes = (m k + k n + m n) x element sizes x batch; time = "
          "max(FLOPs / peak, bytes / bandwidth) + 2.5 us (0.6 us in a graph). The copies of pad "
          "are "
          "not counted")
      .WorkOf([](const ParameterMap& parameters, int) {
        return GemmWork(GemmShapeOf(parameters), parameters);
      })
      .SelfTest({{"m", "520"}, {"n", "272"}, {"k", "1040"}, {"batch", "3"}, {"layout", "nt"}})
      .SelfTestAlso({{"dtype", "fp16"}})
      .SelfTestAlso({{"dtype", "tf32"}})
      .SelfTestAlso({{"dtype", "fp32"}})
      .SelfTestAlso({{"dtype", "fp64"}})
      .SelfTestAlso({{"dtype", "fp8_e4m3"}})
      .SelfTestAlso({{"dtype", "fp8_e5m2"}})
      .SelfTestAlso({{"dtype", "int8"}})
      .SelfTestAlso({{"pad", "true"}, {"n", "271"}, {"k", "1037"}})
      .SelfTestAlso({{"pad", "true"}, {"m", "519"}, {"n", "273"}, {"k", "1041"}, {"layout", "tn"}})
      .SelfTestAlso(
          {{"pad", "true"}, {"n", "271"}, {"k", "1037"}, {"layout", "nn"}, {"dtype", "fp32"}})
      .SelfTestAlso({{"pad", "true"}, {"n", "268"}, {"k", "1036"}, {"dtype", "int8"}})
      .SelfTestAlso({{"pad", "true"}, {"m", "519"}, {"k", "1037"}, {"layout", "tt"}, {"api", "ex"}})
      .SelfTestAlso({{"api", "ex"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"dtype", "fp16"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"dtype", "tf32"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"dtype", "fp32"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"dtype", "fp64"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"dtype", "int8"}})
      .SelfTestAlso({{"api", "ex"}, {"batch", "1"}, {"m", "1"}})
      .Example(GemmExampleOf("bf16"), ExampleWork(Peak::kBf16, (kInputs + kOutputs) * 2))
      .Example(GemmExampleOf("fp16"), ExampleWork(Peak::kBf16, (kInputs + kOutputs) * 2))
      .Example(GemmExampleOf("fp32"), ExampleWork(Peak::kFp32, (kInputs + kOutputs) * 4))
      .Example(GemmExampleOf("tf32"), ExampleWork(Peak::kTf32, (kInputs + kOutputs) * 4))
      .Example(GemmExampleOf("fp64"), ExampleWork(Peak::kFp64Tensor, (kInputs + kOutputs) * 8))
      // Products of 8-bit numbers are written in 16 bits (fp8) or 32 (int8).
      .Example(GemmExampleOf("fp8_e4m3"), ExampleWork(Peak::kFp8, kInputs + kOutputs * 2))
      .Example(GemmExampleOf("fp8_e5m2"), ExampleWork(Peak::kFp8, kInputs + kOutputs * 2))
      .Example(GemmExampleOf("int8"), ExampleWork(Peak::kInt8, kInputs + kOutputs * 4))
      .Example({{"m", "16"}, {"n", "32"}, {"k", "48"}, {"batch", "3"}, {"launch", "graph"}},
               {.flops = 3 * kFlops,
                .peak = Peak::kBf16,
                .bytes = 3 * (kInputs + kOutputs) * 2,
                .fixed_seconds = kGraphLaunchSeconds})
      // One row: nearly all bytes are those of the matrix that is read.
      .Example({{"m", "1"}, {"n", "64"}, {"k", "64"}}, {.flops = 2 * 64 * 64,
                                                        .peak = Peak::kBf16,
                                                        .bytes = (64 + 64 * 64 + 64) * 2,
                                                        .traffic = Traffic::kRead,
                                                        .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"m", "16"}, {"dtype", "fp8_e4m3"}, {"layout", "nn"}, {"k", "1040"}}, "layout")
      .Refuses({{"dtype", "fp8_e5m2"}, {"layout", "nt"}, {"n", "24"}}, "n")
      .Refuses({{"dtype", "int8"}, {"layout", "nt"}, {"k", "42"}}, "k")
      .Refuses({{"dtype", "bf16"}, {"accumulate", "fast"}}, "dtype")
      .Refuses({{"dtype", "fp8_e4m3"}, {"layout", "nt"}, {"api", "ex"}}, "dtype");
}

}  // namespace assay
