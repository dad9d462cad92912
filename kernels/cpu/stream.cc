#include "kernels/cpu/stream.h"

#include "kernels/random.h"

namespace assay {
namespace {

constexpr double kScalar = 3.0;

double WholeNumber(uint64_t seed, int64_t i) {
  return static_cast<double>(RandomAt(seed, static_cast<uint64_t>(i)) & 0xfff);
}

}  // namespace

CpuStreamOp CpuStreamOpOf(const std::string& word) {
  if (word == "copy") return CpuStreamOp::kCopy;
  if (word == "scale") return CpuStreamOp::kScale;
  return word == "add" ? CpuStreamOp::kAdd : CpuStreamOp::kTriad;
}

void Stream(CpuStreamOp op, double* __restrict out, const double* __restrict b,
            const double* __restrict c, int64_t begin, int64_t end) {
  switch (op) {
    case CpuStreamOp::kCopy:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i];
      return;
    case CpuStreamOp::kScale:
      for (int64_t i = begin; i < end; ++i) out[i] = kScalar * b[i];
      return;
    case CpuStreamOp::kAdd:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + c[i];
      return;
    case CpuStreamOp::kTriad:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + kScalar * c[i];
      return;
  }
}

double StreamInputB(uint64_t seed, int64_t i) { return WholeNumber(seed, i); }

double StreamInputC(uint64_t seed, int64_t i) { return WholeNumber(seed + 1, i); }

double StreamResult(CpuStreamOp op, uint64_t seed, int64_t i) {
  const double b = StreamInputB(seed, i);
  switch (op) {
    case CpuStreamOp::kCopy:
      return b;
    case CpuStreamOp::kScale:
      return kScalar * b;
    case CpuStreamOp::kAdd:
      return b + StreamInputC(seed, i);
    case CpuStreamOp::kTriad:
      break;
  }
  return b + kScalar * StreamInputC(seed, i);
}

ElementMismatches FindMismatches(CpuStreamOp op, uint64_t seed, const double* out, int64_t begin,
                                 int64_t end) {
  ElementMismatches found;
  for (int64_t i = begin; i < end; ++i) {
    if (out[i] == StreamResult(op, seed, i)) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

}  // namespace assay
