// The case of cpu_vector_sum.
#include <limits>
#include <memory>
#include <vector>

#include "host/platform.h"
#include "kernels/benchmark.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/host_timer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/cpu/vector_sum.h"

namespace assay {
namespace {

class CpuVectorSumCase : public Case {
 public:
  explicit CpuVectorSumCase(const RunContext& context)
      : variant_(SumVariantOf(Word(context.parameters, "variant"))),
        seed_(context.seed),
        elements_(Integer(context.parameters, "elements")),
        threads_(ThreadCount(Integer(context.parameters, "threads"))) {}

  Status Allocate() {
    ASSAY_RETURN_IF_ERROR(CheckThreadCount(threads_));
    ASSAY_ASSIGN_OR_RETURN(team_, ThreadTeam::Start(threads_));
    ASSAY_RETURN_IF_ERROR(
        CheckMemoryFor(static_cast<double>(elements_) * sizeof(double), [](double available) {
          const double most = available / sizeof(double);
          return std::to_string(static_cast<int64_t>(most)) + " elements would fit";
        }));
    ASSAY_ASSIGN_OR_RETURN(x_, HostBuffer<double>::Allocate(elements_));
    partial_.resize(static_cast<size_t>(threads_) * kPadding);
    team_->Run([this](int worker) {
      const auto [begin, end] = team_->Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) x_[i] = StreamInputB(seed_, i);
    });
    return Status::Ok();
  }

  Timing HowTimed() const override {
    const bool hot = StaysInCpuCaches(static_cast<double>(elements_) * sizeof(double));
    return {hot ? "hot" : "cold", "random", "host_clock"};
  }

  double MinSampleSeconds() const override { return 1e-3; }

  Result<Verdict> Verify() override {
    Poison();
    Iterate();
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    Poison();
    TimeByHostClock(
        samples, batch, [this] { Iterate(); }, seconds);
    return Status::Ok();
  }

  // The inputs are whole numbers whose sum fp64 holds exactly, in any order.
  Result<Verdict> VerifyLast() override {
    int64_t expected = 0;
    for (int64_t i = 0; i < elements_; ++i) {
      expected += static_cast<int64_t>(StreamInputB(seed_, i));
    }
    double sum = 0;
    for (int worker = 0; worker < threads_; ++worker) sum += Partial(worker);
    Verdict verdict;
    verdict.reference = "exact sum in 64-bit integers";
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

  Result<Ceilings> MeasureCeilings() override {
    Ceilings ceilings = ProbeCpu(threads_, true);
    ceilings.fixed_seconds =
        MedianSecondsOf([this] { team_->Run([](int) {}); }, MinSampleSeconds());
    return ceilings;
  }

 private:
  // Doubles from one worker's result to the next: a cache line of its own.
  static constexpr size_t kPadding = 8;

  double& Partial(int worker) { return partial_[static_cast<size_t>(worker) * kPadding]; }

  void Poison() { partial_.assign(partial_.size(), std::numeric_limits<double>::quiet_NaN()); }

  void Iterate() {
    team_->Run([this](int worker) {
      const auto [begin, end] = team_->Share(elements_, worker);
      Partial(worker) = VectorSum(variant_, x_.data() + begin, end - begin);
    });
  }

  const SumVariant variant_;
  const uint64_t seed_;
  const int64_t elements_;
  const int threads_;
  std::unique_ptr<ThreadTeam> team_;
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
  auto prepared = std::make_unique<CpuVectorSumCase>(context);
  ASSAY_RETURN_IF_ERROR(prepared->Allocate());
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
