#include "kernels/cpu/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "common/available_memory.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/cpu/vector_sum.h"
#include "kernels/cpu/verify_product.h"
#include "kernels/registry.h"

namespace assay {
namespace {

using testing::HasSubstr;

// Verifies, runs a few iterations, verifies what they left.
void RunSmall(const Benchmark& benchmark, const ParameterMap& given) {
  if (!benchmark.UnsupportedReason().empty()) GTEST_SKIP() << benchmark.UnsupportedReason();
  auto parameters = CanonicalParameters(benchmark.Info().parameters, given);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  RunContext context;
  context.parameters = *parameters;
  context.seed = 5;
  auto prepared = benchmark.Prepare(context);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  auto verdict = (*prepared)->Verify();
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->passed) << verdict->detail << " error " << verdict->error;
  std::vector<double> seconds;
  ASSERT_TRUE((*prepared)->Run(3, 2, &seconds).ok());
  EXPECT_EQ(seconds.size(), 3u);
  for (const double time : seconds) EXPECT_GT(time, 0);
  verdict = (*prepared)->VerifyLast();
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->passed) << verdict->detail << " error " << verdict->error;
  EXPECT_GT(verdict->elements_checked, 0);
}

TEST(CpuGemm, OddShapesBothTypes) {
  const auto gemm = NewCpuGemm();
  for (const char* dtype : {"fp32", "fp64"}) {
    RunSmall(*gemm, {{"m", "1"}, {"n", "1"}, {"k", "1"}, {"dtype", dtype}, {"cache", "cold"}});
    RunSmall(*gemm, {{"m", "33"}, {"n", "17"}, {"k", "65"}, {"dtype", dtype}, {"cache", "hot"}});
    RunSmall(*gemm, {{"m", "3"}, {"n", "300"}, {"k", "129"}, {"threads", "1"}, {"dtype", dtype}});
  }
}

TEST(CpuGemm, CountsTheWork) {
  const auto work =
      NewCpuGemm()->WorkOf({{"m", "10"}, {"n", "20"}, {"k", "30"}, {"dtype", "fp64"}}, 1);
  ASSERT_TRUE(work.ok());
  EXPECT_EQ(work->flops, 12000);
  EXPECT_EQ(work->bytes, 8 * (300 + 600 + 200));
}

TEST(CpuGemm, TooLargeForTheMachineIsAnError) {
  const auto gemm = NewCpuGemm();
  if (!gemm->UnsupportedReason().empty()) GTEST_SKIP() << gemm->UnsupportedReason();
  EXPECT_EQ(CheckMemoryFor(1e18).reason(), "OUT_OF_MEMORY");
  EXPECT_THAT(CheckMemoryFor(1e18).message(), HasSubstr("needs 888.2 PiB"));
  EXPECT_THAT(CheckMemoryFor(1e18).message(), HasSubstr("iB are available"));
  if (CheckMemoryFor(200e9).ok()) GTEST_SKIP() << "this machine has memory for the largest";
  auto parameters = CanonicalParameters(
      gemm->Info().parameters, {{"m", "65536"}, {"n", "65536"}, {"k", "65536"}, {"dtype", "fp64"}});
  RunContext context;
  context.parameters = *parameters;
  const auto sum = NewCpuVectorSum();
  parameters = CanonicalParameters(sum->Info().parameters, {{"elements", "68719476736"}});
  RunContext large;
  large.parameters = *parameters;
  for (const auto& refused : {gemm->Prepare(context).status(), sum->Prepare(large).status()}) {
    EXPECT_EQ(refused.reason(), "OUT_OF_MEMORY");
    EXPECT_THAT(refused.hint(), HasSubstr("would fit"));
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

TEST(CheckMemoryFor, CountsWhatTheAddressSpaceHasLeft) {
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
    EXPECT_EQ(refused.reason(), "OUT_OF_MEMORY");
    EXPECT_THAT(refused.message(), HasSubstr(" available below the limit of its address space"));
    EXPECT_EQ(refused.hint(), "less would fit");
    EXPECT_TRUE(CheckMemoryFor(kGib / 4).ok());
    const Status crowded = CheckMemoryFor(kGib / 4, what_fits, 2 * kGib);
    EXPECT_THAT(crowded.message(), HasSubstr("; 0 B are available"));
    EXPECT_EQ(crowded.hint(), "");
  }
  EXPECT_TRUE(CheckMemoryFor(2 * kGib).ok());
}

TEST(ThreadCount, MoreThanFourForEachCpuAreRefused) {
  const int most = 4 * Cpu().threads;
  EXPECT_TRUE(CheckThreadCount(most).ok());
  for (const auto& benchmark : {NewCpuGemm(), NewCpuMemoryBandwidth(), NewCpuVectorSum()}) {
    if (!benchmark->UnsupportedReason().empty()) continue;
    const auto parameters =
        CanonicalParameters(benchmark->Info().parameters, {{"threads", std::to_string(most + 1)}});
    if (!parameters.ok()) continue;  // More than 1024 CPUs.
    RunContext context;
    context.parameters = *parameters;
    const Status refused = benchmark->Prepare(context).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("at most " + std::to_string(most)));
  }
}

// Between one array and all that triad touches: neither may say otherwise than the other.
TEST(CpuMemoryBandwidth, HotIsWhatAnIterationTouches) {
  const int64_t cache = Cpu().last_level_cache_bytes.value_or(0);
  if (cache == 0) GTEST_SKIP() << "the caches of this machine are not known";
  const auto benchmark = NewCpuMemoryBandwidth();
  for (const auto& [op, cold] : {std::pair{"copy", false}, std::pair{"triad", true}}) {
    const std::string bytes = std::to_string(cache * 5 / 6 / 8 * 8);
    RunContext context;
    context.parameters = *CanonicalParameters(benchmark->Info().parameters,
                                              {{"op", op}, {"bytes", bytes}, {"threads", "1"}});
    const auto prepared = benchmark->Prepare(context);
    if (!prepared.ok()) GTEST_SKIP() << prepared.status();
    EXPECT_EQ((*prepared)->HowTimed().cache, cold ? "cold" : "hot") << op;
    EXPECT_EQ(StaysInCpuCaches(benchmark->WorkOf(context.parameters, 1)->bytes), !cold) << op;
  }
}

TEST(CpuMemoryBandwidth, EveryOpOddSizes) {
  const auto benchmark = NewCpuMemoryBandwidth();
  for (const char* op : {"copy", "scale", "add", "triad"}) {
    RunSmall(*benchmark, {{"op", op}, {"bytes", "8"}, {"threads", "3"}});
    RunSmall(*benchmark, {{"op", op}, {"bytes", "99992"}, {"threads", "2"}});
  }
  const auto odd = benchmark->WorkOf({{"op", "copy"}, {"bytes", "99999"}}, 1);
  EXPECT_EQ(odd.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(odd.status().message(), HasSubstr("multiple of 8"));
}

TEST(CpuMemoryBandwidth, CountsAsStreamDoes) {
  const auto benchmark = NewCpuMemoryBandwidth();
  EXPECT_EQ(benchmark->WorkOf({{"op", "copy"}, {"bytes", "800"}}, 1)->bytes, 1600);
  EXPECT_EQ(benchmark->WorkOf({{"op", "triad"}, {"bytes", "800"}}, 1)->bytes, 2400);
  EXPECT_EQ(benchmark->WorkOf({{"op", "triad"}, {"bytes", "800"}}, 1)->flops, 200);
}

TEST(VectorSum, EveryVariantIsExactAtEveryLength) {
  std::vector<double> x(300);
  for (size_t i = 0; i < x.size(); ++i) x[i] = StreamInputB(7, static_cast<int64_t>(i));
  for (const char* word : {"scalar", "auto", "avx2", "avx512"}) {
    const SumVariant variant = SumVariantOf(word);
    if (!HasInstructionsFor(variant)) continue;
    double expected = 0;
    for (size_t n = 0; n <= x.size(); ++n) {
      EXPECT_EQ(VectorSum(variant, x.data(), static_cast<int64_t>(n)), expected)
          << word << " " << n;
      if (n < x.size()) expected += x[n];
    }
  }
}

TEST(CpuVectorSum, EveryVariantOddSizes) {
  const auto sum = NewCpuVectorSum();
  for (const char* variant : {"scalar", "auto", "avx2", "avx512"}) {
    if (!HasInstructionsFor(SumVariantOf(variant))) continue;
    for (const char* elements : {"1", "33", "100003"}) {
      RunSmall(*sum, {{"variant", variant}, {"elements", elements}, {"threads", "2"}});
    }
  }
}

TEST(Metrics, DeriveFromTimeAndWork) {
  const auto gemm = NewCpuGemm();
  Work work;
  work.flops = 5e9;
  EXPECT_DOUBLE_EQ(gemm->MetricValue(0, work, 0.5), 10.0);  // GFLOP/s.
  EXPECT_DOUBLE_EQ(gemm->MetricValue(1, work, 0.5), 0.5);
}

template <typename T>
void ProductFaultsAreFound() {
  constexpr int64_t kM = 70, kN = 50, kK = 90;
  std::vector<T> a(kM * kK), b(kK * kN), c(kM * kN);
  FillUniform(a.data(), kM * kK, 1);
  FillUniform(b.data(), kK * kN, 2);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < kK; ++k) {
        sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(k * kN + j)];
      }
      c[static_cast<size_t>(i * kN + j)] = sum;
    }
  }
  const auto verify = [&](const std::vector<T>& product) {
    return VerifyProduct<T>(kM, kN, kK, a.data(), b.data(), product.data(), 3);
  };
  const Verdict good = verify(c);
  EXPECT_TRUE(good.passed) << good.error << " > " << good.tolerance;
  EXPECT_EQ(good.elements_checked, kM * kN);
  for (const size_t at : {size_t{0}, size_t{1234}, c.size() - 1}) {
    for (const T wrong : {-c[at], c[at] * static_cast<T>(1.01), std::numeric_limits<T>::quiet_NaN(),
                          std::numeric_limits<T>::infinity(), T{0}}) {
      std::vector<T> planted = c;
      planted[at] = wrong;
      const Verdict verdict = verify(planted);
      EXPECT_FALSE(verdict.passed) << "element " << at << " = " << wrong;
      EXPECT_THAT(verdict.detail, HasSubstr("row " + std::to_string(at / kN)));
    }
  }
  EXPECT_FALSE(verify(std::vector<T>(c.size(), 0)).passed);
}

TEST(VerifyProduct, PlantedFaultsAreFound) {
  ProductFaultsAreFound<float>();
  ProductFaultsAreFound<double>();
}

// One element in a tall product, off by so little that the norm over all rows hides it.
TEST(VerifyProduct, AFaultInOneRowOfManyIsFound) {
  constexpr int64_t kM = 8192, kN = 2, kK = 64;
  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN);
  FillUniform(a.data(), kM * kK, 1);
  FillUniform(b.data(), kK * kN, 2);
  for (size_t i = 0; i < kM; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (size_t k = 0; k < kK; ++k) sum += double{a[i * kK + k]} * double{b[k * kN + j]};
      c[i * kN + j] = static_cast<float>(sum);
    }
  }
  const auto verify = [&] {
    return VerifyProduct<float>(kM, kN, kK, a.data(), b.data(), c.data(), 3);
  };
  EXPECT_TRUE(verify().passed) << verify().error;
  const auto worst = std::max_element(c.begin(), c.end());
  *worst *= 1 + 1e-4F;
  double square = 0;
  for (const float element : c) square += double{element} * double{element};
  // What one norm of all would tolerate: 8 u sqrt(k).
  EXPECT_LT(1e-4 * double{*worst} / std::sqrt(square), 8 * std::ldexp(1, -24) * std::sqrt(kK));
  const Verdict verdict = verify();
  EXPECT_FALSE(verdict.passed) << verdict.error << " <= " << verdict.tolerance;
  EXPECT_THAT(verdict.detail, HasSubstr("row " + std::to_string((worst - c.begin()) / kN)));
}

// Where k is small beside n, the reference rounds more than the product does.
TEST(VerifyProduct, RoundingOfTheReferenceIsNoFault) {
  constexpr int64_t kM = 16, kN = 65536;
  std::vector<double> a(kM), b(kN), c(kM * kN);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    FillUniform(a.data(), kM, seed);
    FillUniform(b.data(), kN, seed + 100);
    for (size_t i = 0; i < kM; ++i) {
      for (size_t j = 0; j < kN; ++j) c[i * kN + j] = a[i] * b[j];
    }
    const Verdict verdict =
        VerifyProduct<double>(kM, kN, 1, a.data(), b.data(), c.data(), seed + 200);
    EXPECT_TRUE(verdict.passed) << verdict.error << " > " << verdict.tolerance;
  }
}

TEST(Stream, PlantedFaultsAreFound) {
  std::vector<double> b(1000), c(1000), out(1000);
  for (int64_t i = 0; i < 1000; ++i) {
    b[static_cast<size_t>(i)] = StreamInputB(7, i);
    c[static_cast<size_t>(i)] = StreamInputC(7, i);
  }
  for (const char* word : {"copy", "scale", "add", "triad"}) {
    const StreamOp op = StreamOpOf(word);
    Stream(op, out.data(), b.data(), c.data(), 0, 1000);
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).count, 0) << word;
    out[500] = std::nan("");
    out[700] += 1;
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).count, 2) << word;
    EXPECT_EQ(FindMismatches(op, 7, out.data(), 0, 1000).first, 500) << word;
  }
}

TEST(ThreadTeam, EveryWorkerRunsOnceARoundAndSharesCoverEverything) {
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

TEST(Probe, CeilingsArePositive) {
  const Ceilings ceilings = ProbeCpu(1, false);
  EXPECT_GT(ceilings.flops.value_or(0), 1e8);
  EXPECT_GT(ceilings.bytes.value_or(0), 1e7);
}

TEST(Probe, ShortIterationsAreTimedInBatches) {
  int64_t calls = 0;
  const double seconds = MedianSecondsOf([&] { ++calls; }, 20e-6);
  // A hundred batches of 20 us, or half of that where the median one is so much faster.
  EXPECT_GT(seconds * static_cast<double>(calls), 100 * 10e-6);
  EXPECT_GT(seconds, 0);
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

TEST(Registry, NamesAreKnownAndHelpful) {
  EXPECT_TRUE(BuiltinBenchmarks().Find("cpu_gemm").ok());
  const auto missing = BuiltinBenchmarks().Find("cpu_gem");
  EXPECT_EQ(missing.status().reason(), "UNKNOWN_BENCHMARK");
  EXPECT_THAT(missing.status().hint(), HasSubstr("cpu_gemm"));
}

TEST(Registry, DeclarationsAreConsistent) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    SCOPED_TRACE(info.name);
    ASSERT_FALSE(info.metrics.empty());
    EXPECT_GE(info.version, 1);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_FALSE(info.model.empty());
    // The self-test's parameters and the defaults make a complete, canonical case.
    const auto complete = CanonicalParameters(info.parameters, info.selftest_parameters);
    ASSERT_TRUE(complete.ok()) << complete.status();
    EXPECT_EQ(*CanonicalParameters(info.parameters, *complete), *complete);
    EXPECT_EQ(info.collective, complete->count("ranks") == 1);
  }
}

}  // namespace
}  // namespace assay
