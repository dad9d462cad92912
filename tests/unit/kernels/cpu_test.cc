// The parts that CPU benchmarks share: memory, threads, the probe.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "host/cpu.h"
#include "host/memory.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/registry.h"

namespace assay {
namespace {

TEST(CpuBenchmarks, CaseTooLargeForTheMachineIsAnError) {
  const Benchmark* gemm = *BuiltinBenchmarks().Find("cpu_gemm");
  if (!gemm->UnsupportedReason().empty()) GTEST_SKIP() << gemm->UnsupportedReason();
  EXPECT_EQ(CheckMemoryFor(1e18).reason(), Reason::kOutOfMemory);
  if (CheckMemoryFor(200e9).ok()) GTEST_SKIP() << "this machine has memory for the largest";
  auto parameters =
      CheckParameters(*gemm, {{"m", "65536"}, {"n", "65536"}, {"k", "65536"}, {"dtype", "fp64"}});
  RunContext context;
  context.parameters = *parameters;
  const Benchmark* sum = *BuiltinBenchmarks().Find("cpu_vector_sum");
  parameters = CheckParameters(*sum, {{"elements", "68719476736"}});
  RunContext large;
  large.parameters = *parameters;
  for (const auto& refused : {gemm->Prepare(context).status(), sum->Prepare(large).status()}) {
    EXPECT_EQ(refused.reason(), Reason::kOutOfMemory);
    EXPECT_NE(refused.hint(), "");
  }
}

// A limit of this process's address space, `bytes` above what it has mapped.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    constexpr int64_t kAmple = int64_t{1} << 60;
    Set(kAmple);
    Set(kAmple - AddressSpaceLeft().value_or(0) + bytes);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  void Set(int64_t bytes) const {
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(bytes), before_.rlim_max);
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }

  rlimit before_{};
};

TEST(CheckMemoryFor, IncludesTheLimitOfTheAddressSpace) {
  static constexpr double kGib = 1 << 30;
  const auto what_fits = [](double available) {
    EXPECT_GT(available, 0);
    EXPECT_LE(available, kGib);
    return std::string("less would fit");
  };
  if (AddressSpaceLeft()) GTEST_SKIP() << "the address space is limited already";
  if (!CheckMemoryFor(2 * kGib).ok()) GTEST_SKIP() << "this machine lacks memory";
  {
    const AddressSpaceLimit limit(1 << 30);
    const Status refused = CheckMemoryFor(2 * kGib, what_fits);
    EXPECT_EQ(refused.reason(), Reason::kOutOfMemory);
    EXPECT_EQ(refused.hint(), "less would fit");
    EXPECT_TRUE(CheckMemoryFor(kGib / 4).ok());
    const Status crowded = CheckMemoryFor(kGib / 4, what_fits, 2 * kGib);
    EXPECT_EQ(crowded.reason(), Reason::kOutOfMemory);
    EXPECT_EQ(crowded.hint(), "");
  }
  EXPECT_TRUE(CheckMemoryFor(2 * kGib).ok());
}

TEST(ThreadCount, MoreThanFourThreadsPerCpuAreRefused) {
  const int most = 4 * Cpu().threads;
  EXPECT_TRUE(CheckThreadCount(most).ok());
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    if (benchmark->Info().resource != Resource::kCpu) continue;
    if (!benchmark->UnsupportedReason().empty()) continue;
    const auto parameters = CheckParameters(*benchmark, {{"threads", std::to_string(most + 1)}});
    if (!parameters.ok()) continue;  // More than 1024 CPUs, or one thread alone.
    RunContext context;
    context.parameters = *parameters;
    const Status refused = benchmark->Prepare(context).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  }
}

TEST(ThreadsWithin, AreTheWholeCpusOfTheSmallestQuota) {
  EXPECT_EQ(ThreadsWithin(8, {}), 8);
  EXPECT_EQ(ThreadsWithin(8, {{"inner", 12}}), 8);
  EXPECT_EQ(ThreadsWithin(8, {{"inner", 4}, {"outer", 2.5}}), 2);
  EXPECT_EQ(ThreadsWithin(8, {{"inner", 0.2}}), 1);
  EXPECT_EQ(ThreadsWithin(0, {}), 1);
}

TEST(Metrics, DeriveFromTimeAndWork) {
  const Benchmark* gemm = *BuiltinBenchmarks().Find("cpu_gemm");
  Work work;
  work.flops = 5e9;
  EXPECT_DOUBLE_EQ(gemm->MetricValue(0, work, 0.5), 10.0);  // GFLOP/s.
  EXPECT_DOUBLE_EQ(gemm->MetricValue(1, work, 0.5), 0.5);
}

TEST(ThreadTeam, EveryWorkerRunsOncePerRoundAndSharesCoverEverything) {
  auto started = ThreadTeam::Start(3);
  ASSERT_TRUE(started.ok()) << started.status();
  ThreadTeam& team = **started;
  std::vector<std::atomic<int>> touched(1000);
  for (int round = 0; round < 200; ++round) {
    team.Run([&](int worker) {
      const auto [begin, end] = team.Share(1000, worker);
      for (int64_t i = begin; i < end; ++i) ++touched[static_cast<size_t>(i)];
    });
  }
  for (const auto& count : touched) EXPECT_EQ(count, 200);
  EXPECT_EQ(team.Share(2, 2), (std::pair<int64_t, int64_t>(2, 2)));
}

TEST(ThreadTeam, PinsWorkersOnlyOnRequest) {
  const auto cpus = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  };
  const int all = cpus();
  ASSERT_GT(all, 0);
  for (const auto& [pinning, expected] :
       {std::pair(Pinning::kOneCpuEach, 1), {Pinning::kNone, all}}) {
    auto team = ThreadTeam::Start(1, pinning);
    ASSERT_TRUE(team.ok()) << team.status();
    int worker = 0;
    (*team)->Run([&](int) { worker = cpus(); });
    EXPECT_EQ(worker, expected);
  }
  EXPECT_EQ(cpus(), all) << "the owner is pinned";
}

TEST(Probe, CeilingsArePositive) {
  const Ceilings ceilings = ProbeCpu(1, false);
  EXPECT_GT(ceilings.flops.value_or(0), 1e8);
  EXPECT_GT(ceilings.bytes.value_or(0), 1e7);
}

// A clock that advances by 1 us with each iteration.
struct FakeClock {
  double Seconds() const { return static_cast<double>(iterations) * 1e-6; }
  int64_t iterations = 0;
};

TEST(Probe, ShortIterationsAreTimedInBatches) {
  FakeClock clock;
  const auto now = [&] { return clock.Seconds(); };
  EXPECT_NEAR(MedianSecondsOf([&] { ++clock.iterations; }, 20e-6, now), 1e-6, 1e-12);
  // One call before all others, three batches of each size up to 32 calls, then 21 batches.
  EXPECT_EQ(clock.iterations, 1 + 3 * (1 + 2 + 4 + 8 + 16 + 32) + 21 * 32);
}

TEST(Probe, InterruptedBatchesDoNotCount) {
  FakeClock clock;
  int64_t calls = 0;
  const auto iterate = [&] { clock.iterations += ++calls % 100 == 0 ? 1'000'000 : 1; };
  EXPECT_NEAR(MedianSecondsOf(iterate, 20e-6, [&] { return clock.Seconds(); }), 1e-6, 1e-12);
}

TEST(FillUniform, IsReproducibleAndInRange) {
  std::vector<float> a(10000), b(10000);
  FillUniform(a.data(), 10000, 1);
  FillUniform(b.data(), 10000, 1);
  EXPECT_EQ(a, b);
  double sum = 0;
  for (const float value : a) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.03);
}

}  // namespace
}  // namespace assay
