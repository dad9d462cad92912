#include "runner/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <new>

#include "gang/peers.h"
#include "kernels/cpu/blas.h"
#include "kernels/registry.h"
#include "tests/unit/gang/gang.h"
#include "tests/virtual_clock.h"
#include "tests/wording.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// The behaviour of the fake case on one rank.
enum class Fault {
  kNone,
  kUnsupported,
  kOutOfMemory,
  kThrowsBadAlloc,
  kWrongAtFirst,
  kNanError,
  kWrongAfterTiming,
  kRunFails,
  kNeighbourUnreachable,  // On a connection that carries data.
  kBadSample,
};

class FakeCase : public Case {
 public:
  FakeCase(Fault fault, const RunContext& context, VirtualClock* clock, const Ceilings& ceilings,
           const std::string& fill, double seconds)
      : fault_(fault),
        rank_(context.rank),
        clock_(clock),
        ceilings_(ceilings),
        fill_(fill),
        seconds_(seconds) {}

  Timing HowTimed() const override { return {"cold", fill_, "events"}; }
  Result<Verdict> Verify() override { return Judge(fault_ == Fault::kWrongAtFirst); }
  Result<Verdict> VerifyLast() override { return Judge(fault_ == Fault::kWrongAfterTiming); }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ran_ += samples * batch;
    if (fault_ == Fault::kRunFails && ran_ > 100)
      return Internal("an illegal address", Reason::kCudaError);
    if (fault_ == Fault::kNeighbourUnreachable && ran_ > 100) {
      return Status(Code::kDeadlineExceeded, Reason::kPeerUnreachable, "no answer").WithPeer({2});
    }
    for (int64_t i = 0; i < samples; ++i) {
      // Higher ranks are slower, and rank 1 alternates between two times.
      const double time =
          seconds_ * (1 + rank_ + (rank_ == 1 ? 0.001 * static_cast<double>(i % 2) : 0));
      seconds->push_back(fault_ == Fault::kBadSample && ran_ > 100 ? std::nan("") : time);
      if (rank_ == 0) {
        clock_->Advance(std::chrono::microseconds(1000 * batch));
      }
      // The number of the run distinguishes the warm-up from the timed window.
      observed_.push_back(static_cast<double>(runs_));
    }
    ++runs_;
    return Status::Ok();
  }

  Result<Ceilings> MeasureCeilings() override { return ceilings_; }

  std::vector<double> Observed(const std::string& name) const override {
    return name == "runs" ? observed_ : std::vector<double>();
  }

 private:
  Result<Verdict> Judge(bool wrong) const {
    Verdict verdict;
    verdict.passed = !wrong;
    verdict.reference = "the fake itself";
    verdict.error = wrong ? 0.5 : 1e-7;
    if (fault_ == Fault::kNanError) {
      verdict.error = std::nan("");
      verdict.passed = verdict.error <= verdict.tolerance;
    }
    verdict.tolerance = 1e-6;
    verdict.elements_checked = 10;
    if (!verdict.passed) verdict.detail = "element 3 is 4, should be 5";
    return verdict;
  }

  const Fault fault_;
  const int rank_;
  VirtualClock* const clock_;
  const Ceilings ceilings_;
  const std::string fill_;
  const double seconds_;
  int64_t ran_ = 0;
  int runs_ = 0;
  std::vector<double> observed_;
};

class FakeBenchmark : public Benchmark {
 public:
  FakeBenchmark(Fault fault, int faulty_rank, bool collective)
      : fault_(fault), faulty_rank_(faulty_rank) {
    info_.name = "fake";
    info_.version = 3;
    info_.resource = collective ? Resource::kNetwork : Resource::kCpu;
    info_.collective = collective;
    info_.metrics = {{"rate", "GFLOP/s", Direction::kHigherIsBetter, "", Quantity::kFlops, 1e-9},
                     TimeMetric(),
                     {"runs", "", Direction::kHigherIsBetter, "", Quantity::kObserved, 1},
                     {"unseen", "", Direction::kHigherIsBetter, "", Quantity::kObserved, 1}};
  }

  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override {
    Work work;
    work.flops = 2e6;
    work.link_bytes = link_bytes;
    return work;
  }
  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    const Fault fault = context.rank == faulty_rank_ ? fault_ : Fault::kNone;
    if (fault == Fault::kUnsupported) return Unsupported("needs two moons");
    if (fault == Fault::kOutOfMemory) return OutOfMemory("GPU 0 has 3 MiB left");
    if (fault == Fault::kThrowsBadAlloc) throw std::bad_alloc();
    return std::unique_ptr<Case>(new FakeCase(fault, context, &clock, ceilings, fill, seconds));
  }

  mutable VirtualClock clock;
  Ceilings ceilings;
  std::string fill = "random";
  double link_bytes = 0;
  double seconds = 1e-3;  // Seconds of an iteration.

 private:
  const Fault fault_;
  const int faulty_rank_;
  BenchmarkInfo info_;
};

// Runs the case on one rank without a gang.
ExecutedCase Execute(Fault fault, const ExecuteOptions& options = {}) {
  const FakeBenchmark benchmark(fault, 0, false);
  RunContext context;
  context.clock = &benchmark.clock;
  const auto executed = ExecuteCase(benchmark, context, options);
  EXPECT_TRUE(executed.ok()) << executed.status();
  return executed.ok() ? *executed : ExecutedCase();
}

// Runs the case on three ranks and returns the result of rank 0, after checking that none hangs and
// all agree on the outcome. `phases`, if given, receives the phases of each rank.
ExecutedCase ExecuteInGang(Fault fault, int faulty_rank,
                           std::array<std::vector<std::string>, 3>* phases = nullptr) {
  const FakeBenchmark benchmark(fault, faulty_rank, true);
  ExecutedCase at_zero;
  std::atomic<int> ok{0};
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    RunContext context;
    context.parameters = {{"ranks", "3"}};
    context.rank = peers->rank();
    context.world_size = 3;
    context.peers = peers.get();
    context.clock = &benchmark.clock;
    ExecuteOptions options;
    options.on_phase = [&](const std::string& phase) {
      if (phases != nullptr) (*phases)[static_cast<size_t>(peers->rank())].push_back(phase);
    };
    const auto executed = ExecuteCase(benchmark, context, options);
    ASSERT_TRUE(executed.ok()) << executed.status();
    if (executed->result.outcome() == v1::CASE_OUTCOME_OK) ++ok;
    if (peers->rank() == 0) at_zero = *executed;
    // The ranks still communicate in step.
    EXPECT_TRUE(Agree(*peers, Status::Ok(), kPeerTimeout).ok());
  });
  EXPECT_EQ(ok, at_zero.result.outcome() == v1::CASE_OUTCOME_OK ? 3 : 0);
  return at_zero;
}

TEST(Execute, MeasuredCaseHasEveryPartOfAResult) {
  std::vector<std::string> phases;
  ExecuteOptions options;
  options.on_phase = [&](const std::string& phase) { phases.push_back(phase); };
  const v1::CaseResult result = Execute(Fault::kNone, options).result;
  EXPECT_EQ(result.outcome(), v1::CASE_OUTCOME_OK);
  EXPECT_THAT(phases, ElementsAre("verify", "warm_up", "measure", "verify"));
  EXPECT_EQ(result.benchmark_version(), 3);
  ASSERT_EQ(result.measurements_size(), 3);  // The fourth metric was not observed.
  const v1::Measurement& primary = result.measurements(0);
  EXPECT_DOUBLE_EQ(primary.median(), 2.0);
  EXPECT_EQ(primary.samples_size(), primary.n());
  EXPECT_EQ(primary.method().stop_reason(), "confidence");
  EXPECT_EQ(primary.method().timer(), "events");
  EXPECT_DOUBLE_EQ(result.measurements(1).median(), 1e-3);
  EXPECT_EQ(result.measurements(1).samples_size(), 0);
  // Observations during the warm-up do not count.
  EXPECT_EQ(result.measurements(2).n(), primary.n());
  EXPECT_GT(result.measurements(2).p05(), 0);
  EXPECT_TRUE(result.verification().passed());
  EXPECT_DOUBLE_EQ(result.prediction().flops(), 2e6);
  EXPECT_TRUE(result.conditions().has_load_average());
  EXPECT_GT(result.end_time().seconds() * 1'000'000'000 + result.end_time().nanos(),
            result.start_time().seconds() * 1'000'000'000 + result.start_time().nanos());
}

// Otherwise a new version of OpenBLAS would end the series of benchmarks that do not use it.
TEST(Execute, OnlyBenchmarksWithBlasHaveItsVersion) {
  for (const char* name : {"cpu_gemm", "cpu_memory_bandwidth", "cpu_vector_sum"}) {
    const auto benchmark = BuiltinBenchmarks().Find(name);
    ASSERT_TRUE(benchmark.ok()) << benchmark.status();
    const BenchmarkInfo& info = (*benchmark)->Info();
    RunContext context;
    context.parameters = *CanonicalParameters(info.parameters, info.selftest_parameters);
    ExecuteOptions options;
    options.measure = false;
    const auto report = ExecuteCase(**benchmark, context, options);
    ASSERT_TRUE(report.ok()) << report.status();
    const v1::SoftwareVersions& software = report->result.environment().software();
    EXPECT_EQ(software.blas(), info.name == "cpu_gemm" ? BlasVersion().value_or("") : "") << name;
  }
}

// The sum is far faster than reads from memory.
TEST(Execute, CachedDataHasNoCeilingOfMemory) {
  const auto benchmark = BuiltinBenchmarks().Find("cpu_vector_sum");
  ASSERT_TRUE(benchmark.ok()) << benchmark.status();
  RunContext context;
  context.parameters = *CheckParameters(**benchmark, {{"elements", "2048"}, {"threads", "1"}});
  ExecuteOptions options;
  options.effort = Effort::kQuick;
  const auto report = ExecuteCase(**benchmark, context, options);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->result.outcome(), v1::CASE_OUTCOME_OK);
  EXPECT_EQ(report->result.prediction().regime(), "cache");
  EXPECT_FALSE(report->result.prediction().has_efficiency_measured());
  EXPECT_THAT(report->result.conditions().flags(), Not(Contains("above_ceiling")));
}

TEST(Execute, RateAboveItsCeilingIsFlagged) {
  FakeBenchmark benchmark(Fault::kNone, 0, false);  // 2 GFLOP/s.
  RunContext context;
  context.clock = &benchmark.clock;
  for (const double ceiling : {1.9e9, 1.25e9}) {
    benchmark.ceilings.flops = ceiling;
    const auto report = ExecuteCase(benchmark, context, {});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_DOUBLE_EQ(report->result.prediction().efficiency_measured(), 2e9 / ceiling);
    const auto& flags = report->result.conditions().flags();
    const auto times = std::count(flags.begin(), flags.end(), "above_ceiling");
    EXPECT_EQ(times, ceiling < 1.8e9 ? 1 : 0);
  }
}

// The model of the earlier sizes is 1 ms plus 1 us per kB.
TEST(Execute, TimeFarAboveTheLinkModelIsFlagged) {
  FakeBenchmark benchmark(Fault::kNone, 0, false);
  RunContext context;
  context.clock = &benchmark.clock;
  const auto flags_of = [&](double bytes, double seconds) {
    benchmark.link_bytes = bytes;
    benchmark.seconds = seconds;
    const auto report = ExecuteCase(benchmark, context, {});
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->result.conditions().flags()
                       : google::protobuf::RepeatedPtrField<std::string>();
  };
  for (const double bytes : {1e5, 1e6, 1e7}) {
    EXPECT_THAT(flags_of(bytes, 1e-3 + bytes * 1e-9), Not(Contains("below_model")));
  }
  EXPECT_THAT(flags_of(4e6, 1.9 * 5e-3), Not(Contains("below_model")));
  EXPECT_THAT(flags_of(4e6, 2.1 * 5e-3), Contains("below_model"));
  EXPECT_THAT(flags_of(4e6, 0.2 * 5e-3), Not(Contains("below_model")));
}

// Measured ceilings hold for random data only.
TEST(Execute, ZerosAreNotComparedWithMeasuredCeilings) {
  FakeBenchmark benchmark(Fault::kNone, 0, false);  // 2 GFLOP/s.
  benchmark.ceilings.flops = 1.25e9;
  benchmark.ceilings.fixed_seconds = 0.9e-3;
  benchmark.fill = "zeros";
  RunContext context;
  context.clock = &benchmark.clock;
  const auto report = ExecuteCase(benchmark, context, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->result.outcome(), v1::CASE_OUTCOME_OK);
  EXPECT_FALSE(report->result.prediction().has_efficiency_measured());
  EXPECT_THAT(report->result.conditions().flags(), Not(Contains("above_ceiling")));
  EXPECT_EQ(report->result.prediction().regime(),
            "launch");  // The regime does not need measured ceilings.
}

TEST(Execute, VerifyOnlyMeasuresNothing) {
  ExecuteOptions options;
  options.measure = false;
  const ExecutedCase executed = Execute(Fault::kNone, options);
  EXPECT_EQ(executed.result.outcome(), v1::CASE_OUTCOME_OK);
  EXPECT_EQ(executed.result.measurements_size(), 0);
}

TEST(Execute, WrongOutputFailsBeforeAndAfterTiming) {
  for (const Fault fault : {Fault::kWrongAtFirst, Fault::kNanError, Fault::kWrongAfterTiming}) {
    const ExecutedCase executed = Execute(fault);
    EXPECT_EQ(executed.result.outcome(), v1::CASE_OUTCOME_FAILED);
    EXPECT_EQ(executed.error.reason(), Reason::kVerificationFailed);
    if (fault == Fault::kWrongAtFirst) {
      EXPECT_WORDING("runner/verification-failed", executed.error.message());
    }
    EXPECT_EQ(executed.result.measurements_size(), 0);
    EXPECT_FALSE(executed.result.verification().passed());
  }
}

TEST(Execute, UnsupportedIsAnOutcome) {
  const ExecutedCase executed = Execute(Fault::kUnsupported);
  EXPECT_EQ(executed.result.outcome(), v1::CASE_OUTCOME_UNSUPPORTED);
}

// A benchmark with contradicting parameters, on a machine without a GPU.
class ContradictedBenchmark : public FakeBenchmark {
 public:
  ContradictedBenchmark() : FakeBenchmark(Fault::kNone, 0, false) {}
  std::string UnsupportedReason() const override { return "needs a CUDA GPU"; }
  Result<Work> WorkOf(const ParameterMap&, int) const override {
    return InvalidArgument("a warp has no 33 columns");
  }
};

TEST(Execute, ContradictionIsAUsageErrorOnMachinesWithoutAGpu) {
  const ContradictedBenchmark benchmark;
  RunContext context;
  context.clock = &benchmark.clock;
  const auto report = ExecuteCase(benchmark, context, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->result.outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(report->error.code(), Code::kInvalidArgument);
}

TEST(Execute, ErrorsOfACaseAreItsFailure) {
  EXPECT_EQ(Execute(Fault::kOutOfMemory).error.reason(), Reason::kOutOfMemory);
  EXPECT_EQ(Execute(Fault::kThrowsBadAlloc).error.reason(), Reason::kOutOfMemory);
  EXPECT_EQ(Execute(Fault::kRunFails).error.reason(), Reason::kCudaError);
  EXPECT_EQ(Execute(Fault::kBadSample).error.reason(), Reason::kBadSample);
  EXPECT_EQ(Execute(Fault::kBadSample).result.outcome(), v1::CASE_OUTCOME_FAILED);
}

TEST(Execute, GangTakesTheSlowestRank) {
  const ExecutedCase executed = ExecuteInGang(Fault::kNone, -1);
  ASSERT_EQ(executed.result.outcome(), v1::CASE_OUTCOME_OK) << executed.error;
  EXPECT_DOUBLE_EQ(executed.result.measurements(1).median(), 3e-3);
  EXPECT_EQ(executed.result.verification().elements_checked(), 30);
}

// If a rank is lost, its agent takes the phase from this rank's last report.
TEST(Execute, EveryRankReportsItsPhases) {
  std::array<std::vector<std::string>, 3> phases;
  ExecuteInGang(Fault::kNone, -1, &phases);
  for (const auto& of_rank : phases) {
    EXPECT_THAT(of_rank, ElementsAre("verify", "warm_up", "measure", "verify"));
  }
}

TEST(Execute, ErrorOfAnyRankIsTheErrorOfTheGang) {
  for (const int rank : {0, 1, 2}) {
    for (const Fault fault : {Fault::kUnsupported, Fault::kOutOfMemory, Fault::kWrongAtFirst,
                              Fault::kNanError, Fault::kWrongAfterTiming, Fault::kRunFails}) {
      const ExecutedCase executed = ExecuteInGang(fault, rank);
      EXPECT_EQ(executed.result.outcome(), fault == Fault::kUnsupported
                                               ? v1::CASE_OUTCOME_UNSUPPORTED
                                               : v1::CASE_OUTCOME_FAILED);
      EXPECT_EQ(executed.error.rank(), rank);
    }
    EXPECT_EQ(ExecuteInGang(Fault::kBadSample, rank).error.reason(), Reason::kBadSample);
  }
}

TEST(Execute, UnreachableNeighbourEndsEveryRankWithTheSameError) {
  const FakeBenchmark benchmark(Fault::kNeighbourUnreachable, 1, true);
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    RunContext context;
    context.parameters = {{"ranks", "3"}};
    context.rank = peers->rank();
    context.world_size = 3;
    context.peers = peers.get();
    context.clock = &benchmark.clock;
    const Status error = ExecuteCase(benchmark, context, {}).status();
    EXPECT_EQ(error.reason(), Reason::kPeerUnreachable) << error;
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.peer().rank, 2);
  });
}

TEST(Execute, GangOfAnotherSizeIsAUsageError) {
  const FakeBenchmark benchmark(Fault::kNone, -1, true);
  RunContext context;
  context.parameters = {{"ranks", "4"}};
  context.clock = &benchmark.clock;
  const auto report = ExecuteCase(benchmark, context, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->error.code(), Code::kInvalidArgument);
}

TEST(Execute, LostRankEndsTheGangWithoutAResult) {
  const FakeBenchmark benchmark(Fault::kNone, -1, true);
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 1) return;
    RunContext context;
    context.parameters = {{"ranks", "3"}};
    context.rank = peers->rank();
    context.world_size = 3;
    context.peers = peers.get();
    context.clock = &benchmark.clock;
    EXPECT_EQ(ExecuteCase(benchmark, context, {}).status().reason(), Reason::kPeerLost);
  });
}

}  // namespace
}  // namespace assay
