#include "kernels/cuda/gemm/gemm_case.h"

#include <array>

#include "kernels/cuda/execution/sustained_load.h"

namespace assay {
namespace {

struct Dtype {
  const char* word;
  GemmType type;
  Peak peak;
  int major;  // Minimum compute capability.
  int minor;
};

constexpr std::array<Dtype, 8> kDtypes = {{
    {"bf16", GemmType::kBf16, Peak::kBf16, 8, 0},
    {"fp16", GemmType::kFp16, Peak::kBf16, 5, 3},
    {"tf32", GemmType::kTf32, Peak::kTf32, 8, 0},
    {"fp32", GemmType::kFp32, Peak::kFp32, 0, 0},
    {"fp64", GemmType::kFp64, Peak::kFp64Tensor, 0, 0},
    {"fp8_e4m3", GemmType::kFp8E4m3, Peak::kFp8, 8, 9},
    {"fp8_e5m2", GemmType::kFp8E5m2, Peak::kFp8, 8, 9},
    {"int8", GemmType::kInt8, Peak::kInt8, 7, 2},
}};

GemmShape ShapeOf(GemmType type) {
  GemmShape shape;
  shape.type = type;
  return shape;
}

const Dtype& DtypeOf(GemmType type) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype;
  }
  return kDtypes.front();
}

}  // namespace

ParameterSpec GemmDtypeParameter() {
  std::vector<std::string> words;
  for (const Dtype& dtype : kDtypes) words.emplace_back(dtype.word);
  ParameterSpec spec = DtypeParameter(words);
  spec.description =
      "type of A, B and D. tf32 is fp32 on tensor cores. fp8 gives D in bf16; fp8_e5m2 is A alone, "
      "B is e4m3, since no tensor core multiplies e5m2 by e5m2. int8 sums up and gives D in int32";
  return spec;
}

OldMultipleOf GemmMultiple() {
  OldMultipleOf of;
  of.parameter = "dtype";
  for (const std::string& word : Fp8Words()) of.of_words[word] = 16;
  of.of_words["int8"] = 4;
  return of;
}

std::vector<std::string> Fp8Words() {
  std::vector<std::string> words;
  for (const Dtype& dtype : kDtypes) {
    if (ShapeOf(dtype.type).IsFp8()) words.emplace_back(dtype.word);
  }
  return words;
}

std::vector<std::string> ByteWords() {
  std::vector<std::string> words;
  for (const Dtype& dtype : kDtypes) {
    if (ShapeOf(dtype.type).InputBytes() == 1) words.emplace_back(dtype.word);
  }
  return words;
}

GemmType GemmTypeOf(const std::string& word) {
  for (const Dtype& dtype : kDtypes) {
    if (word == dtype.word) return dtype.type;
  }
  return kDtypes.front().type;
}

Work GemmWork(const GemmShape& shape, const ParameterMap& parameters) {
  Work work;
  work.flops = shape.Flops();
  work.bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes());
  // Multiplying a few rows by a large matrix, or the reverse, is dominated by reading.
  if (static_cast<double>(shape.DBytes()) < 0.1 * work.bytes) work.traffic = Traffic::kRead;
  work.peak = DtypeOf(shape.type).peak;
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

void GemmCase::AdjustRule(MeasureRule* rule) const { AdjustRuleForLoad(shape_.Flops(), rule); }

Status GemmCase::SetUp() {
  const Dtype& dtype = DtypeOf(shape_.type);
  ASSAY_RETURN_IF_ERROR(NeedCapability(device(), dtype.major, dtype.minor, dtype.word));
  // Comes first, so that its workspace is not counted as memory for matrices.
  ASSAY_ASSIGN_OR_RETURN(gemm_, LtGemm::Create(shape_));
  a_ = AddArray(shape_.ABytes());
  b_ = AddArray(shape_.BBytes());
  d_ = AddArray(shape_.DBytes());
  ASSAY_RETURN_IF_ERROR(AllocateSets("A, B and D of " + std::to_string(shape_.batch) + " x " +
                                     std::to_string(shape_.m) + " x " + std::to_string(shape_.n) +
                                     " x " + std::to_string(shape_.k)));
  for (int64_t set = 0; set < sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, Inputs(), set, Array<void>(set, a_),
                                         Array<void>(set, b_), stream()));
  }
  // Matrices large enough to reach a GPU's power limit do not fit its caches either.
  const bool from_cache = !cold() && !shape_.IsSustained();
  const std::string conditions =
      std::string(zeros() ? "zeros" : "random") + (from_cache ? " hot" : "");
  int64_t set = 0;
  ASSAY_ASSIGN_OR_RETURN(
      tuned_now_, gemm_->Tune([&] { return OperandsOf(set++ % sets()); }, conditions, stream()));
  return Status::Ok();
}

Status GemmCase::Enqueue(int64_t set) { return gemm_->Enqueue(OperandsOf(set), stream()); }

OutputRange GemmCase::Output(int64_t set) { return {Array<void>(set, d_), shape_.DBytes()}; }

Result<Verdict> GemmCase::Check(int64_t set) {
  return CheckGemm(shape_, Inputs(), set, OperandsOf(set), stream());
}

GemmOperands GemmCase::OperandsOf(int64_t set) const {
  return {Array<void>(set, a_), Array<void>(set, b_), Array<void>(set, d_)};
}

GemmInputs GemmCase::Inputs() const {
  return {seed(), zeros(), shape_.ABytes() / shape_.InputBytes(),
          shape_.BBytes() / shape_.InputBytes()};
}

}  // namespace assay
