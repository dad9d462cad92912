#include <utility>

#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/matmul/matmul_case.h"

namespace assay {
namespace {

// Keeps indices within a row or column of tiles below 2^31.
constexpr int64_t kMaxSide = 1 << 17;

GemmShape ShapeOf(const ParameterMap& parameters, GemmType type) {
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

}  // namespace

MatmulCase::MatmulCase(const RunContext& context, GemmType type)
    : GpuCase(context), shape_(ShapeOf(context.parameters, type)) {
  inputs_.seed = seed();
  inputs_.zeros = zeros();
  inputs_.stride_a = shape_.m * shape_.k;
  inputs_.stride_b = shape_.k * shape_.n;
}

void MatmulCase::AdjustRule(MeasureRule* rule) const { AdjustRuleForLoad(shape_.Flops(), rule); }

Status MatmulCase::SetUp() {
  ASSAY_RETURN_IF_ERROR(PrepareKernel());
  AddArray(shape_.ABytes());
  AddArray(shape_.BBytes());
  AddArray(shape_.DBytes());
  ASSAY_RETURN_IF_ERROR(AllocateSets("A, B and D of " + std::to_string(m()) + " x " +
                                     std::to_string(n()) + " x " + std::to_string(k())));
  for (int64_t set = 0; set < sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(
        FillGemmInputs(shape_, inputs_, set, Array<void>(set, 0), Array<void>(set, 1), stream()));
    ASSAY_RETURN_IF_ERROR(PrepareSet(set));
  }
  return Status::Ok();
}

OutputRange MatmulCase::Output(int64_t set) { return {Array<void>(set, 2), shape_.DBytes()}; }

Result<Verdict> MatmulCase::Check(int64_t set) {
  return CheckGemm(shape_, inputs_, set,
                   {Array<void>(set, 0), Array<void>(set, 1), Array<void>(set, 2)}, stream());
}

Matmul::Matmul(const MatmulRung& rung) : type_(rung.type) {
  info_.name = rung.name;
  info_.summary = rung.summary;
  info_.resource = Resource::kGpu;
  // Multiple for n and k, so that rows are whole units of 16 bytes.
  const OldMultipleOf whole = {rung.multiple};
  info_.parameters = {{"n",
                       ParameterType::kInteger,
                       "columns of D; also m and k where these are 0",
                       "4096",
                       1,
                       kMaxSide,
                       {},
                       {},
                       whole},
                      {"m", ParameterType::kInteger, "rows of D; 0: n", "0", 0, kMaxSide, {}},
                      {"k",
                       ParameterType::kInteger,
                       "length of the dot products; 0: n",
                       "0",
                       0,
                       kMaxSide,
                       {},
                       {},
                       whole}};
  info_.parameters.insert(info_.parameters.end(), rung.parameters.begin(), rung.parameters.end());
  for (ParameterSpec& common : std::vector<ParameterSpec>{
           FillParameter(), CacheParameter("one set of matrices"), LaunchParameter()}) {
    info_.parameters.push_back(std::move(common));
  }
  info_.selftest_parameters = rung.selftest_parameters;
  info_.metrics = {{"tflops", "TFLOP/s", Direction::kHigherIsBetter,
                    "multiplications and additions a second", Quantity::kFlops, 1e-12},
                   TimeMetric()};
  info_.model =
      "FLOPs = 2 m n k; bytes = (m k + k n + m n) x element size; "
      "time = max(FLOPs / peak, bytes / bandwidth) + 2.5 us (0.6 us in a graph). " +
      rung.model;
}

Result<Work> Matmul::WorkOf(const ParameterMap& parameters, int) const {
  const GemmShape shape = ShapeOf(parameters, type_);
  Work work;
  work.flops = shape.Flops();
  work.bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes());
  work.peak = type_ == GemmType::kBf16 ? Peak::kBf16 : Peak::kFp32;
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

}  // namespace assay
