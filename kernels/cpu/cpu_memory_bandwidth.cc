// cpu_memory_bandwidth: the four loops of STREAM (McCalpin 1995) on fp64 arrays,
// with STREAM's counting: what the loop names, no write-allocate traffic.
#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/platform.h"

namespace assay {
namespace {

constexpr double kScalar = 3.0;

// Bytes of one array: as asked, or four times the last-level cache.
int64_t ArrayBytes(const ParameterMap& parameters) {
  const int64_t asked = Integer(parameters, "bytes");
  if (asked != 0) return asked / 8 * 8;
  constexpr int64_t kLeast = int64_t{64} << 20;
  return std::max(kLeast, 4 * Cpu().last_level_cache_bytes.value_or(0));
}

enum class Op { kCopy, kScale, kAdd, kTriad };

Op OpOf(const std::string& word) {
  if (word == "copy") return Op::kCopy;
  if (word == "scale") return Op::kScale;
  return word == "add" ? Op::kAdd : Op::kTriad;
}

// out = op(b, c) on [begin, end).
void Stream(Op op, double* __restrict out, const double* __restrict b, const double* __restrict c,
            int64_t begin, int64_t end) {
  switch (op) {
    case Op::kCopy:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i];
      return;
    case Op::kScale:
      for (int64_t i = begin; i < end; ++i) out[i] = kScalar * b[i];
      return;
    case Op::kAdd:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + c[i];
      return;
    case Op::kTriad:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + kScalar * c[i];
      return;
  }
}

class CpuStreamCase : public Case {
 public:
  explicit CpuStreamCase(const RunContext& context)
      : op_(OpOf(Word(context.parameters, "op"))),
        seed_(context.seed),
        elements_(ArrayBytes(context.parameters) / 8),
        team_(ThreadCount(Integer(context.parameters, "threads"))) {}

  Status Allocate() {
    ASSAY_RETURN_IF_ERROR(CheckMemoryFor(static_cast<double>(elements_) * 8 * 3));
    for (HostBuffer<double>* array : {&out_, &b_, &c_}) {
      ASSAY_ASSIGN_OR_RETURN(*array, HostBuffer<double>::Allocate(elements_));
    }
    // Every thread first touches what it will stream.
    team_.Run([this](int worker) {
      const auto [begin, end] = team_.Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) {
        b_[i] = InputB(i);
        c_[i] = InputC(i);
        out_[i] = kPoison;
      }
    });
    return Status::Ok();
  }

  Timing HowTimed() const override {
    const int64_t cache = Cpu().last_level_cache_bytes.value_or(0);
    return {elements_ * 8 >= 2 * cache ? "cold" : "hot", "random", "host_clock"};
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
    for (int64_t sample = 0; sample < samples; ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < batch; ++i) Iterate();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds->push_back(took.count() / static_cast<double>(batch));
    }
    return Status::Ok();
  }

  // Inputs are small integers, so every result is exact.
  Result<Verdict> VerifyLast() override {
    std::vector<int64_t> wrong(static_cast<size_t>(team_.size()), 0);
    std::vector<int64_t> first(static_cast<size_t>(team_.size()), -1);
    team_.Run([&](int worker) {
      const auto [begin, end] = team_.Share(elements_, worker);
      for (int64_t i = begin; i < end; ++i) {
        if (out_[i] == Expected(i)) continue;  // NaN is unequal to everything.
        if (wrong[static_cast<size_t>(worker)]++ == 0) first[static_cast<size_t>(worker)] = i;
      }
    });
    Verdict verdict;
    verdict.reference = "exact pattern, every element";
    verdict.norm = "mismatches";
    verdict.elements_checked = elements_;
    for (size_t worker = 0; worker < wrong.size(); ++worker) {
      verdict.error += static_cast<double>(wrong[worker]);
      if (first[worker] < 0 || !verdict.detail.empty()) continue;
      verdict.detail = "element " + std::to_string(first[worker]) + " is " +
                       std::to_string(out_[first[worker]]) + ", should be " +
                       std::to_string(Expected(first[worker]));
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

  Result<Ceilings> MeasureCeilings() override { return ProbeCpu(team_.size(), true); }

 private:
  static constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

  double InputB(int64_t i) const {
    return static_cast<double>(RandomAt(seed_, static_cast<uint64_t>(i)) & 0xfff);
  }
  double InputC(int64_t i) const {
    return static_cast<double>(RandomAt(seed_ + 1, static_cast<uint64_t>(i)) & 0xfff);
  }
  double Expected(int64_t i) const {
    const double b = InputB(i);
    const double c = InputC(i);
    switch (op_) {
      case Op::kCopy:
        return b;
      case Op::kScale:
        return kScalar * b;
      case Op::kAdd:
        return b + c;
      case Op::kTriad:
        break;
    }
    return b + kScalar * c;
  }

  void Iterate() {
    team_.Run([this](int worker) {
      const auto [begin, end] = team_.Share(elements_, worker);
      Stream(op_, out_.data(), b_.data(), c_.data(), begin, end);
    });
  }

  const Op op_;
  const uint64_t seed_;
  const int64_t elements_;
  ThreadTeam team_;
  HostBuffer<double> out_, b_, c_;
};

class CpuMemoryBandwidth : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override {
    static const BenchmarkInfo info = MakeInfo();
    return info;
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const auto elements = static_cast<double>(ArrayBytes(parameters) / 8);
    const Op op = OpOf(Word(parameters, "op"));
    Work work;
    work.bytes = elements * 8 * (op == Op::kCopy || op == Op::kScale ? 2 : 3);
    if (op == Op::kScale || op == Op::kAdd) work.flops = elements;
    if (op == Op::kTriad) work.flops = 2 * elements;
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
    info.version = 1;
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
         {}},
        {"threads",
         ParameterType::kInteger,
         "threads; 0: all CPUs of the process",
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
