// cpu_memory_bandwidth: the four loops of STREAM (McCalpin 1995) on fp64 arrays,
// with STREAM's counting: what the loop names, no write-allocate traffic.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "common/number_text.h"
#include "kernels/benchmark.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/host_timer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/thread_team.h"
#include "host/platform.h"

namespace assay {
namespace {

// Bytes of one array: as asked, or four times the last-level cache.
int64_t ArrayBytes(const ParameterMap& parameters) {
  const int64_t asked = Integer(parameters, "bytes");
  if (asked != 0) return asked;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * Cpu().last_level_cache_bytes.value_or(0));
}

// Of all the arrays that the loop reads and writes.
double TouchedBytes(StreamOp op, double elements) {
  const bool two_arrays = op == StreamOp::kCopy || op == StreamOp::kScale;
  return elements * 8 * (two_arrays ? 2 : 3);
}

class CpuStreamCase : public Case {
 public:
  explicit CpuStreamCase(const RunContext& context)
      : op_(StreamOpOf(Word(context.parameters, "op"))),
        seed_(context.seed),
        elements_(ArrayBytes(context.parameters) / 8),
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

  const StreamOp op_;
  const uint64_t seed_;
  const int64_t elements_;
  const int threads_;
  std::unique_ptr<ThreadTeam> team_;
  HostBuffer<double> out_, b_, c_;
};

class CpuMemoryBandwidth : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override {
    static const BenchmarkInfo info = MakeInfo();
    return info;
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const int64_t whole_elements = ArrayBytes(parameters) / 8;
    const auto elements = static_cast<double>(whole_elements);
    const StreamOp op = StreamOpOf(Word(parameters, "op"));
    Work work;
    work.bytes = TouchedBytes(op, elements);
    if (op == StreamOp::kScale || op == StreamOp::kAdd) work.flops = elements;
    if (op == StreamOp::kTriad) work.flops = 2 * elements;
    work.peak = "fp64_vector";
    work.payload_bytes = elements * 8;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    auto prepared = std::make_unique<CpuStreamCase>(context);
    ASSAY_RETURN_IF_ERROR(prepared->Allocate());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  static BenchmarkInfo MakeInfo() {
    BenchmarkInfo info;
    info.name = "cpu_memory_bandwidth";
    info.version = 2;  // 2: arrays no longer begin at the same place of a large page.
    info.summary = "STREAM's copy, scale, add and triad on the host's memory, fp64";
    info.resource = Resource::kCpu;
    info.parameters = {
        {"op",
         ParameterType::kWord,
         "the loop",
         "triad",
         {},
         {},
         {"copy", "scale", "add", "triad"}},
        {"bytes",
         ParameterType::kBytes,
         "size of each array; 0: four times the last-level cache, at least 64 MiB",
         "0",
         0,
         int64_t{1} << 40,
         {},
         {},
         {sizeof(double)}},
        {"threads",
         ParameterType::kInteger,
         "threads; 0: as many as the process may keep busy; at most four times that",
         "0",
         0,
         4096,
         {}},
    };
    info.metrics = {{"bandwidth", "GB/s", Direction::kHigherIsBetter,
                     "bytes that the loop reads and writes, a second", Quantity::kBytes, 1e-9},
                    TimeMetric()};
    info.model =
        "bytes = 2 (copy, scale) or 3 (add, triad) arrays, without write-allocate; predicted time "
        "from the machine's own measured read bandwidth";
    info.selftest_parameters = {{"bytes", "1MiB"}};
    return info;
  }
};

}  // namespace

std::unique_ptr<Benchmark> NewCpuMemoryBandwidth() {
  return std::make_unique<CpuMemoryBandwidth>();
}

}  // namespace assay
