#include "kernels/cpu/probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "host/cpu.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/thread_team.h"

namespace assay {
namespace {

// Ten chains keep two arithmetic units with a latency of 4 cycles busy.
constexpr int kChains = 10;
// Performs `rounds` rounds of kChains independent multiply-adds on vectors of `Bytes` bytes. The
// returned value depends on all chains, so that the compiler cannot remove any of them.
template <typename T, int Bytes>
[[gnu::always_inline]] inline T MultiplyAdds(int64_t rounds) {
  typedef T Vector __attribute__((vector_size(Bytes)));
  Vector chains[kChains];
  // Start with values that depend on an argument. If they were constants, the compiler could remove
  // the chain that starts with 1, whose value never changes.
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + static_cast<T>(rounds + i);
  const Vector factor = Vector{} + static_cast<T>(0.999);
  const Vector term = Vector{} + static_cast<T>(0.001);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factor + term;
  }
  for (int i = 1; i < kChains; ++i) chains[0] += chains[i];
  return chains[0][0];
}

template <typename T>
struct Kernel {
  T (*run)(int64_t rounds);
  int vector_bytes;
};

template <typename T>
T MultiplyAddsBase(int64_t rounds) {
  return MultiplyAdds<T, 16>(rounds);
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx2,fma"))) T MultiplyAddsAvx2(int64_t rounds) {
  return MultiplyAdds<T, 32>(rounds);
}
template <typename T>
__attribute__((target("avx512f"))) T MultiplyAddsAvx512(int64_t rounds) {
  return MultiplyAdds<T, 64>(rounds);
}
#endif

template <typename T>
Kernel<T> BestKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {MultiplyAddsAvx512<T>, 64};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {MultiplyAddsAvx2<T>, 32};
  }
#endif
  return {MultiplyAddsBase<T>, 16};
}

double SecondsOf(const std::function<void()>& work) {
  const double begin = SteadySeconds();
  work();
  return SteadySeconds() - begin;
}

// Returns the combined FLOP/s of all threads when they run at once. Adds up each thread's best try,
// because its other tries may have been interrupted.
template <typename T>
double ProbeFlops(ThreadTeam* team) {
  const Kernel<T> kernel = BestKernel<T>();
  constexpr int kTries = 25;
  constexpr int64_t kRounds = 1'000'000;
  const double flops = 2.0 * kChains * static_cast<double>(kRounds) * kernel.vector_bytes /
                       static_cast<double>(sizeof(T));
  std::vector<double> best(static_cast<size_t>(team->size()));
  team->Run([&](int worker) {
    double& mine = best[static_cast<size_t>(worker)];
    for (int i = 0; i < kTries; ++i) {
      const double seconds = SecondsOf([&] {
        volatile T sink = kernel.run(kRounds);
        static_cast<void>(sink);
      });
      mine = std::max(mine, flops / seconds);
    }
  });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

std::optional<double> ProbeMemory(ThreadTeam* team) {
  constexpr int64_t kLeast = int64_t{64} << 20;
  constexpr int64_t kIfUnknown = int64_t{1} << 30;
  const int64_t bytes = std::max(kLeast, 2 * Cpu().last_level_cache_bytes.value_or(kIfUnknown));
  if (!CheckMemoryFor(static_cast<double>(bytes)).ok()) return std::nullopt;
  auto buffer = HostBuffer<double>::Allocate(bytes / 8);
  if (!buffer.ok()) return std::nullopt;
  double* const data = buffer->data();
  const int64_t elements = buffer->size();
  team->Run([&](int worker) {
    const auto [begin, end] = team->Share(elements, worker);
    std::fill(data + begin, data + end, 1.0);
  });
  constexpr int kTries = 10;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = SecondsOf([&] {
      team->Run([&](int worker) {
        const auto [begin, end] = team->Share(elements, worker);
        double sums[8] = {};
        for (int64_t at = begin; at + 8 <= end; at += 8) {
          for (int lane = 0; lane < 8; ++lane) sums[lane] += data[at + lane];
        }
        volatile double sink = std::accumulate(sums, sums + 8, 0.0);
        static_cast<void>(sink);
      });
    });
    best = std::max(best, static_cast<double>(elements * 8) / seconds);
  }
  return best;
}

Ceilings ProbeNow(int threads, bool fp64) {
  Ceilings ceilings;
  // Threads in excess of the CPUs would slow the probe down without raising the measured rates.
  const auto team = ThreadTeam::Start(std::min(threads, Cpu().threads));
  if (!team.ok()) return ceilings;
  ceilings.flops = fp64 ? ProbeFlops<double>(team->get()) : ProbeFlops<float>(team->get());
  ceilings.bytes = ProbeMemory(team->get());
  return ceilings;
}

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double MedianSecondsOf(const std::function<void()>& iterate, double min_sample_seconds,
                       const std::function<double()>& now) {
  constexpr int64_t kMostCalls = 1 << 20;
  int64_t batch = 1;
  const auto time_batch = [&] {
    const double begin = now();
    for (int64_t i = 0; i < batch; ++i) iterate();
    return now() - begin;
  };
  // Returns the shortest of three times, because other processes may interrupt a batch.
  const auto least_of_three = [&] { return std::min({time_batch(), time_batch(), time_batch()}); };
  time_batch();  // The first call is slower.
  while (least_of_three() < min_sample_seconds && batch < kMostCalls) batch *= 2;
  std::array<double, 21> seconds;
  for (double& one : seconds) one = time_batch();
  const auto median = seconds.begin() + seconds.size() / 2;
  std::nth_element(seconds.begin(), median, seconds.end());
  return *median / static_cast<double>(batch);
}

Ceilings ProbeCpu(int threads, bool fp64) {
  struct Known {
    Ceilings ceilings;
    std::chrono::steady_clock::time_point measured_at;
  };
  constexpr std::chrono::seconds kMaxAge(60);
  thread_local std::map<std::pair<int, bool>, Known> all;
  const auto now = std::chrono::steady_clock::now();
  const auto known = all.find({threads, fp64});
  if (known != all.end() && now - known->second.measured_at < kMaxAge) {
    return known->second.ceilings;
  }
  const Ceilings ceilings = ProbeNow(threads, fp64);
  all[{threads, fp64}] = {ceilings, now};
  return ceilings;
}

}  // namespace assay
