// Prepares, runs and verifies the cases of the cpu_vector_sum benchmark.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "host/cpu.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/team_case.h"
#include "kernels/cpu/vector_sum_size.h"

namespace assay {
namespace {

class CpuVectorSumCase : public TeamCase {
 public:
  explicit CpuVectorSumCase(const RunContext& context)
      : CpuVectorSumCase(context, VectorSumSizeOf(context.parameters)) {}

  // Compares the sum with the exact result. The inputs are whole numbers whose sum over all passes
  // is below 2^53, so fp64 holds it exactly, regardless of the order of additions.
  Result<Verdict> VerifyLast() override {
    int64_t expected = 0;
    for (int64_t i = 0; i < elements_; ++i) {
      expected += static_cast<int64_t>(StreamInputB(seed(), i));
    }
    expected *= passes_;
    double sum = 0;
    for (int worker = 0; worker < team().size(); ++worker) sum += Partial(worker);
    Verdict verdict;
    verdict.reference = "exact sum of all passes in 64-bit integers";
    verdict.norm = "max_abs";
    verdict.elements_checked = elements_;
    verdict.error = std::abs(sum - static_cast<double>(expected));
    verdict.passed = verdict.error == 0;
    if (!verdict.passed) {
      verdict.detail =
          "the sum is " + std::to_string(sum) + ", should be " + std::to_string(expected);
    }
    return verdict;
  }

 protected:
  Status Allocate() override {
    ASSAY_RETURN_IF_ERROR(
        CheckMemoryFor(static_cast<double>(elements_) * sizeof(double), [this](double available) {
          const double most = available / sizeof(double) / arrays_;
          return std::to_string(static_cast<int64_t>(most)) + " elements would fit";
        }));
    ASSAY_ASSIGN_OR_RETURN(x_, HostBuffer<double>::Allocate(elements_));
    partial_.resize(static_cast<size_t>(team().size()) * kPadding);
    team().Run([this](int worker) {
      const auto [begin, end] = team().Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) x_[i] = StreamInputB(seed(), i);
    });
    return Status::Ok();
  }

  // Fills the whole output, because it is only one number per worker.
  void FillOutput(int64_t /*step*/) override {
    partial_.assign(partial_.size(), std::numeric_limits<double>::quiet_NaN());
  }

  void Iterate(int worker) override {
    const auto [begin, end] = team().Share(elements_, worker);
    Partial(worker) = VectorSum(variant_, x_.data() + begin, end - begin, passes_);
  }

 private:
  CpuVectorSumCase(const RunContext& context, VectorSumSize size)
      : TeamCase(context, ThreadCount(Integer(context.parameters, "threads")),
                 static_cast<double>(size.elements) * sizeof(double)),
        variant_(SumVariantOf(Word(context.parameters, "variant"))),
        elements_(size.elements),
        passes_(size.passes),
        arrays_(static_cast<double>(size.elements) / Number(context.parameters, "elements")) {}

  // The size of a cache line, in doubles. Each worker's result has its own cache line.
  static constexpr size_t kPadding = 8;

  double& Partial(int worker) { return partial_[static_cast<size_t>(worker) * kPadding]; }

  const SumVariant variant_;
  const int64_t elements_;
  const int64_t passes_;
  const double arrays_;  // As many as threads, or one.
  HostBuffer<double> x_;
  std::vector<double> partial_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewCpuVectorSumCase(const RunContext& context) {
  const std::string& variant = Word(context.parameters, "variant");
  if (!HasInstructionsFor(SumVariantOf(variant))) {
    return Unsupported("variant " + variant + " needs a CPU with " + variant + "; this is " +
                       Cpu().model);
  }
  return PrepareCase<CpuVectorSumCase>(context);
}

}  // namespace assay
