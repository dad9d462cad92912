// Prepares, runs and verifies the cases of the cpu_branches benchmark.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/branches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/team_case.h"

namespace assay {
namespace {

class CpuBranchesCase : public TeamCase {
 public:
  explicit CpuBranchesCase(const RunContext& context)
      : CpuBranchesCase(context, Integer(context.parameters, "period")) {}

  Result<Verdict> VerifyLast() override {
    int64_t expected = 0;
    for (int64_t i = 0; i < steps_; ++i) expected += Adds(pattern_, seed(), i % period_) ? i : -i;
    Verdict verdict;
    verdict.reference = "exact sum in 64-bit integers";
    verdict.norm = "max_abs";
    verdict.elements_checked = steps_;
    verdict.passed = sum_ == expected;
    if (!verdict.passed) {
      verdict.error = sum_ ? std::abs(static_cast<double>(*sum_ - expected))
                           : std::numeric_limits<double>::quiet_NaN();
      verdict.detail = "the sum is " + (sum_ ? std::to_string(*sum_) : std::string("missing")) +
                       ", should be " + std::to_string(expected);
    }
    return verdict;
  }

 protected:
  Status Allocate() override {
    ASSAY_RETURN_IF_ERROR(CheckMemoryFor(static_cast<double>(steps_), [](double available) {
      return "a period of " + std::to_string(static_cast<int64_t>(available)) + " would fit";
    }));
    adds_.resize(static_cast<size_t>(steps_));
    for (int64_t i = 0; i < steps_; ++i) {
      adds_[static_cast<size_t>(i)] = Adds(pattern_, seed(), i % period_) ? 1 : 0;
    }
    return Status::Ok();
  }

  void FillOutput(int64_t /*step*/) override { sum_.reset(); }

  void Iterate(int /*worker*/) override { sum_ = SumByBranches(adds_.data(), steps_); }

 private:
  CpuBranchesCase(const RunContext& context, int64_t period)
      : TeamCase(context, 1, static_cast<double>(BranchSteps(period))),
        pattern_(BranchPatternOf(Word(context.parameters, "pattern"))),
        period_(period),
        steps_(BranchSteps(period)) {}

  const BranchPattern pattern_;
  const int64_t period_;
  const int64_t steps_;
  std::vector<uint8_t> adds_;
  std::optional<int64_t> sum_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewCpuBranchesCase(const RunContext& context) {
  return PrepareCase<CpuBranchesCase>(context);
}

}  // namespace assay
