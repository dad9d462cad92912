// Prepares, runs and verifies the cases of the cpu_memory_bandwidth benchmark.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/units.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/team_case.h"

namespace assay {
namespace {

int64_t ElementsOf(const ParameterMap& parameters) {
  return StreamArrayBytes(Integer(parameters, "bytes")) / 8;
}

double TouchedBytes(const ParameterMap& parameters) {
  const CpuStreamOp op = CpuStreamOpOf(Word(parameters, "op"));
  const bool two_arrays = op == CpuStreamOp::kCopy || op == CpuStreamOp::kScale;
  return static_cast<double>(ElementsOf(parameters)) * 8 * (two_arrays ? 2 : 3);
}

class CpuStreamCase : public TeamCase {
 public:
  explicit CpuStreamCase(const RunContext& context)
      : TeamCase(context, ThreadCount(Integer(context.parameters, "threads")),
                 TouchedBytes(context.parameters)),
        op_(CpuStreamOpOf(Word(context.parameters, "op"))),
        elements_(ElementsOf(context.parameters)) {}

  Result<Verdict> VerifyLast() override {
    std::vector<ElementMismatches> found(static_cast<size_t>(team().size()));
    team().Run([&](int worker) {
      const auto [begin, end] = team().Share(elements_, worker);
      found[static_cast<size_t>(worker)] = FindMismatches(op_, seed(), out_.data(), begin, end);
    });
    Verdict verdict;
    verdict.reference = "exact pattern, every element";
    verdict.norm = "mismatches";
    verdict.elements_checked = elements_;
    for (const ElementMismatches& part : found) {
      verdict.error += static_cast<double>(part.count);
      if (part.count == 0 || !verdict.detail.empty()) continue;
      verdict.detail = "element " + std::to_string(part.first) + " is " +
                       std::to_string(out_[part.first]) + ", should be " +
                       std::to_string(StreamResult(op_, seed(), part.first));
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

 protected:
  Status Allocate() override {
    ASSAY_RETURN_IF_ERROR(
        CheckMemoryFor(static_cast<double>(elements_) * 8 * 3, [](double available) {
          return "three arrays of " + ApproximateBytes(static_cast<int64_t>(available) / 3) +
                 " would fit";
        }));
    for (HostBuffer<double>* array : {&out_, &b_, &c_}) {
      ASSAY_ASSIGN_OR_RETURN(*array, HostBuffer<double>::Allocate(elements_));
    }
    team().Run([this](int worker) {
      const auto [begin, end] = team().Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) {
        b_[i] = StreamInputB(seed(), i);
        c_[i] = StreamInputC(seed(), i);
        out_[i] = 0;
      }
    });
    return Status::Ok();
  }

  void FillOutput(int64_t step) override {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = 0; i < elements_; i += step) out_[i] = kNan;
  }

  void Iterate(int worker) override {
    const auto [begin, end] = team().Share(elements_, worker);
    Stream(op_, out_.data(), b_.data(), c_.data(), begin, end);
  }

 private:
  const CpuStreamOp op_;
  const int64_t elements_;
  HostBuffer<double> out_, b_, c_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewCpuMemoryBandwidthCase(const RunContext& context) {
  return PrepareCase<CpuStreamCase>(context);
}

}  // namespace assay
