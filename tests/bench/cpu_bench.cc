// Compares the CPU benchmarks with their references: cpu_gemm with a plain BLAS call,
// cpu_memory_bandwidth with STREAM's loops under OpenMP. Both take turns, so that they meet the
// same load; medians of the turns count. Exit code 1 if a ratio is below 0.98. Run with
// OMP_WAIT_POLICY=passive: otherwise OpenMP's threads spin into the other's turn.
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "measure/statistics.h"

namespace assay {
namespace {

constexpr int kTurns = 25;
constexpr double kBar = 0.98;

double SecondsOf(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Prints one line; false if our rate is below the bar.
bool Compare(const std::string& name, const Benchmark& benchmark, const ParameterMap& given,
             const std::function<void()>& reference) {
  RunContext context;
  const auto parameters = CheckParameters(benchmark, given);
  if (!parameters.ok()) {
    std::printf("%s: %s\n", name.c_str(), parameters.status().ToString().c_str());
    return false;
  }
  context.parameters = *parameters;
  const auto prepared = benchmark.Prepare(context);
  if (!prepared.ok()) {
    std::printf("%s: %s\n", name.c_str(), prepared.status().ToString().c_str());
    return false;
  }
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int turn = 0; turn < kTurns + 3; ++turn) {
    std::vector<double> seconds;
    if (!(*prepared)->Run(1, 1, &seconds).ok()) return false;
    const double plain = SecondsOf(reference);
    if (turn < 3) continue;  // Warm-up.
    ours.push_back(seconds.front());
    theirs.push_back(plain);
  }
  const double mine = Summarize(ours).median;
  const double plain = Summarize(theirs).median;
  std::printf("%-44s %9.3f ms, plain %9.3f ms, ratio %.3f (bar %.2f)%s\n", name.c_str(), mine * 1e3,
              plain * 1e3, plain / mine, kBar, plain / mine < kBar ? "  MISSED" : "");
  return plain / mine >= kBar;
}

bool Gemm() {
  constexpr int kSide = 2048;
  const std::vector<float> a(kSide * kSide, 1.25F);
  const std::vector<float> b(kSide * kSide, 0.75F);
  std::vector<float> c(kSide * kSide);
  return Compare("cpu_gemm fp32 2048 against cblas_sgemm", **BuiltinBenchmarks().Find("cpu_gemm"),
                 {{"m", "2048"}, {"n", "2048"}, {"k", "2048"}, {"dtype", "fp32"}}, [&] {
                   cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSide, kSide, kSide, 1,
                               a.data(), kSide, b.data(), kSide, 0, c.data(), kSide);
                 });
}

bool Triad() {
  constexpr int64_t kElements = int64_t{32} << 20;
  // Not std::vector, which would touch every page from one thread.
  const auto a = std::make_unique_for_overwrite<double[]>(kElements);
  const auto b = std::make_unique_for_overwrite<double[]>(kElements);
  const auto c = std::make_unique_for_overwrite<double[]>(kElements);
  double* const out = a.get();
  double* const x = b.get();
  double* const y = c.get();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < kElements; ++i) out[i] = x[i] = y[i] = 1.0;
  return Compare("cpu_memory_bandwidth triad against STREAM",
                 **BuiltinBenchmarks().Find("cpu_memory_bandwidth"),
                 {{"op", "triad"}, {"bytes", "256MiB"}}, [&] {
#pragma omp parallel for schedule(static)
                   for (int64_t i = 0; i < kElements; ++i) out[i] = x[i] + 3.0 * y[i];
                 });
}

}  // namespace
}  // namespace assay

int main() {
  std::printf("%d threads\n", omp_get_max_threads());
  const bool gemm = assay::Gemm();
  const bool triad = assay::Triad();
  return gemm && triad ? 0 : 1;
}
