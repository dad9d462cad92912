// The case of cpu_memory_bandwidth.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "common/number_text.h"
#include "host/platform.h"
#include "kernels/benchmark.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/host_timer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/thread_team.h"

namespace assay {
namespace {

// Bytes of all arrays that the loop reads and writes.
double TouchedBytes(CpuStreamOp op, double elements) {
  const bool two_arrays = op == CpuStreamOp::kCopy || op == CpuStreamOp::kScale;
  return elements * 8 * (two_arrays ? 2 : 3);
}

class CpuStreamCase : public Case {
 public:
  explicit CpuStreamCase(const RunContext& context)
      : op_(CpuStreamOpOf(Word(context.parameters, "op"))),
        seed_(context.seed),
        elements_(StreamArrayBytes(Integer(context.parameters, "bytes")) / 8),
        threads_(ThreadCount(Integer(context.parameters, "threads"))) {}

  Status Allocate() {
    ASSAY_RETURN_IF_ERROR(CheckThreadCount(threads_));
    ASSAY_ASSIGN_OR_RETURN(team_, ThreadTeam::Start(threads_));
    ASSAY_RETURN_IF_ERROR(
        CheckMemoryFor(static_cast<double>(elements_) * 8 * 3, [](double available) {
          return "three arrays of " + ApproximateBytes(static_cast<int64_t>(available) / 3) +
                 " would fit";
        }));
    for (HostBuffer<double>* array : {&out_, &b_, &c_}) {
      ASSAY_ASSIGN_OR_RETURN(*array, HostBuffer<double>::Allocate(elements_));
    }
    // Every thread first touches what it will stream.
    team_->Run([this](int worker) {
      const auto [begin, end] = team_->Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) {
        b_[i] = StreamInputB(seed_, i);
        c_[i] = StreamInputC(seed_, i);
        out_[i] = kPoison;
      }
    });
    return Status::Ok();
  }

  Timing HowTimed() const override {
    const bool hot = StaysInCpuCaches(TouchedBytes(op_, static_cast<double>(elements_)));
    return {hot ? "hot" : "cold", "random", "host_clock"};
  }

  double MinSampleSeconds() const override { return 1e-3; }

  Result<Verdict> Verify() override {
    std::fill(out_.data(), out_.data() + elements_, kPoison);
    Iterate();
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    // One element a page, so that pages which the timed loops skip are found.
    for (int64_t i = 0; i < elements_; i += 512) out_[i] = kPoison;
    TimeByHostClock(
        samples, batch, [this] { Iterate(); }, seconds);
    return Status::Ok();
  }

  Result<Verdict> VerifyLast() override {
    std::vector<StreamMismatches> found(static_cast<size_t>(team_->size()));
    team_->Run([&](int worker) {
      const auto [begin, end] = team_->Share(elements_, worker);
      found[static_cast<size_t>(worker)] = FindMismatches(op_, seed_, out_.data(), begin, end);
    });
    Verdict verdict;
    verdict.reference = "exact pattern, every element";
    verdict.norm = "mismatches";
    verdict.elements_checked = elements_;
    for (const StreamMismatches& part : found) {
      verdict.error += static_cast<double>(part.count);
      if (part.count == 0 || !verdict.detail.empty()) continue;
      verdict.detail = "element " + std::to_string(part.first) + " is " +
                       std::to_string(out_[part.first]) + ", should be " +
                       std::to_string(StreamResult(op_, seed_, part.first));
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

  Result<Ceilings> MeasureCeilings() override {
    Ceilings ceilings = ProbeCpu(threads_, true);
    ceilings.fixed_seconds =
        MedianSecondsOf([this] { team_->Run([](int) {}); }, MinSampleSeconds());
    return ceilings;
  }

 private:
  static constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

  void Iterate() {
    team_->Run([this](int worker) {
      const auto [begin, end] = team_->Share(elements_, worker);
      Stream(op_, out_.data(), b_.data(), c_.data(), begin, end);
    });
  }

  const CpuStreamOp op_;
  const uint64_t seed_;
  const int64_t elements_;
  const int threads_;
  std::unique_ptr<ThreadTeam> team_;
  HostBuffer<double> out_, b_, c_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewCpuMemoryBandwidthCase(const RunContext& context) {
  auto prepared = std::make_unique<CpuStreamCase>(context);
  ASSAY_RETURN_IF_ERROR(prepared->Allocate());
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
