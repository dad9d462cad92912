// gemm: D = op(A) op(B) by cuBLASLt, with the fastest algorithm of its heuristics.
//
// The count is 2 m n k FLOPs per product and one pass over each of A, B and D. Every iteration
// multiplies the next of several sets of A, B and D, which keeps caches cold.
#include <string>

#include "kernels/cuda/gemm/gemm_case.h"

namespace assay {
namespace {

constexpr int64_t kMaxSide = 1 << 20;
constexpr int64_t kMaxBatch = 65535;  // Limit of the check's grid.

GemmShape ShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = GemmTypeOf(Word(parameters, "dtype"));
  shape.m = Integer(parameters, "m");
  shape.n = Integer(parameters, "n");
  shape.k = Integer(parameters, "k");
  shape.batch = Integer(parameters, "batch");
  const std::string& layout = Word(parameters, "layout");
  shape.a_transposed = layout[0] == 't';
  shape.b_transposed = layout[1] == 't';
  shape.fast_accumulation = Word(parameters, "accumulate") == "fast";
  return shape;
}

class Gemm : public Benchmark {
 public:
  Gemm() {
    info_.name = "gemm";
    info_.summary = "dense matrix multiplication by cuBLASLt, the best of its heuristics";
    info_.resource = Resource::kGpu;
    ParameterSpec dtype = GemmDtypeParameter();
    dtype.limits = {{.when = {{"accumulate", {"fast"}}}, .values = Fp8Words()}};
    info_.parameters = {
        {"m", ParameterType::kInteger, "rows of the output", {}, 1, kMaxSide, {}},
        {"n",
         ParameterType::kInteger,
         "columns of the output",
         {},
         1,
         kMaxSide,
         {},
         {},
         GemmMultiple()},
        {"k",
         ParameterType::kInteger,
         "length of the dot products",
         {},
         1,
         kMaxSide,
         {},
         {},
         GemmMultiple()},
        {"batch", ParameterType::kInteger, "products of this size", "1", 1, kMaxBatch, {}},
        dtype,
        {"layout",
         ParameterType::kWord,
         "how A (m x k) and B (k x n) are stored, row-major: n as they are, t transposed; nn is "
         "torch.matmul(a, b), nt is torch.nn.functional.linear(a, b)",
         "nn",
         {},
         {},
         {"nn", "nt", "tn", "tt"},
         {},
         {},
         {{.when = {{"dtype", ByteWords()}},
           .values = {"nt"},
           .why = "tensor cores take 8-bit A and B along k"}}},
        {"accumulate",
         ParameterType::kWord,
         "where sums are kept: fp32, or, fast and with fewer bits, in the tensor cores "
         "(use_fast_accum of torch._scaled_mm)",
         "fp32",
         {},
         {},
         {"fp32", "fast"}},
        FillParameter(),
        CacheParameter("one set of matrices"),
        LaunchParameter(),
    };
    info_.selftest_parameters = {
        {"m", "520"}, {"n", "272"}, {"k", "1040"}, {"batch", "3"}, {"layout", "nt"}};
    for (const char* dtype : {"fp16", "tf32", "fp32", "fp64", "fp8_e4m3", "fp8_e5m2", "int8"}) {
      info_.selftest_variants.push_back({{"dtype", dtype}});
    }
    info_.metrics = {{"tflops", "TFLOP/s", Direction::kHigherIsBetter,
                      "multiplications and additions a second", Quantity::kFlops, 1e-12},
                     TimeMetric()};
    info_.model =
        "FLOPs = 2 m n k x batch; bytes = (m k + k n + m n) x element sizes x batch; "
        "time = max(FLOPs / peak, bytes / bandwidth) + 2.5 us (0.6 us in a graph)";
  }

  const BenchmarkInfo& Info() const override { return info_; }

  std::string UnsupportedReason() const override { return WhyNoCublasLt(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    return GemmWork(ShapeOf(parameters), parameters);
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    auto prepared = std::make_unique<GemmCase>(context, ShapeOf(context.parameters));
    ASSAY_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewGemm() { return std::make_unique<Gemm>(); }

}  // namespace assay
