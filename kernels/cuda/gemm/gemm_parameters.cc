#include "kernels/cuda/gemm/gemm_parameters.h"

#include <array>

namespace assay {
namespace {

constexpr int64_t kMaxExtent = 1 << 20;

constexpr std::array<GemmDtype, 8> kDtypes = {{
    {"bf16", GemmType::kBf16, Peak::kBf16, 8, 0},
    {"fp16", GemmType::kFp16, Peak::kBf16, 5, 3},
    {"tf32", GemmType::kTf32, Peak::kTf32, 8, 0},
    {"fp32", GemmType::kFp32, Peak::kFp32, 0, 0},
    {"fp64", GemmType::kFp64, Peak::kFp64Tensor, 0, 0},
    {"fp8_e4m3", GemmType::kFp8E4m3, Peak::kFp8, 8, 9},
    {"fp8_e5m2", GemmType::kFp8E5m2, Peak::kFp8, 8, 9},
    {"int8", GemmType::kInt8, Peak::kInt8, 7, 2},
}};

GemmShape OneOf(GemmType type) {
  GemmShape shape;
  shape.type = type;
  return shape;
}

}  // namespace

const GemmDtype& GemmDtypeOf(GemmType type) {
  for (const GemmDtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype;
  }
  return kDtypes.front();
}

const GemmDtype& GemmDtypeOf(const std::string& name) {
  for (const GemmDtype& dtype : kDtypes) {
    if (name == dtype.name) return dtype;
  }
  return kDtypes.front();
}

Parameter GemmDtypeParameter() {
  std::vector<std::string> names;
  for (const GemmDtype& dtype : kDtypes) names.emplace_back(dtype.name);
  return DtypeParameter(names).Describe(
      "type of A, B and D. tf32 is fp32 on tensor cores. fp8 gives D in bf16; fp8_e5m2 is the type "
      "of A alone, B is e4m3, since no tensor core multiplies e5m2 by e5m2. int8 sums and gives D "
      "in int32");
}

std::vector<std::string> Fp8Names() {
  std::vector<std::string> names;
  for (const GemmDtype& dtype : kDtypes) {
    if (OneOf(dtype.type).IsFp8()) names.emplace_back(dtype.name);
  }
  return names;
}

std::vector<std::string> ByteNames() {
  std::vector<std::string> names;
  for (const GemmDtype& dtype : kDtypes) {
    if (OneOf(dtype.type).InputBytes() == 1) names.emplace_back(dtype.name);
  }
  return names;
}

std::vector<std::string> ExNames() {
  std::vector<std::string> names;
  for (const GemmDtype& dtype : kDtypes) {
    if (!OneOf(dtype.type).IsFp8()) names.emplace_back(dtype.name);
  }
  return names;
}

Parameter GemmExtent(const std::string& name, bool in_rows) {
  Parameter extent = Parameter::Integer(name).AtLeast(1).AtMost(kMaxExtent);
  if (in_rows) {
    extent.With("dtype", Fp8Names(), MultipleOf(16)).With("dtype", {"int8"}, MultipleOf(4));
  }
  return extent;
}

Work GemmWork(const GemmShape& shape, const ParameterMap& parameters) {
  Work work;
  work.flops = shape.Flops();
  work.peak = GemmDtypeOf(shape.type).peak;
  work.bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes());
  // Multiplying a few rows by a large matrix, or the reverse, is dominated by reading.
  if (static_cast<double>(shape.DBytes()) < 0.1 * work.bytes) work.traffic = Traffic::kRead;
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

GemmShape GemmShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = GemmDtypeOf(Word(parameters, "dtype")).type;
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

GemmShape SustainedShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = GemmDtypeOf(Word(parameters, "dtype")).type;
  shape.m = shape.n = shape.k = Integer(parameters, "n");
  shape.b_transposed = true;
  return shape;
}

GemmShape OverlapShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = GemmDtypeOf(Word(parameters, "dtype")).type;
  shape.m = Integer(parameters, "m");
  shape.n = Integer(parameters, "n");
  shape.k = Integer(parameters, "k");
  shape.b_transposed = true;
  return shape;
}

}  // namespace assay
