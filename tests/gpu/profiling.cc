// Kernel names and hardware counters on a real GPU: what they say is right. Prints the
// times of cases before and after them in the same process, which should be alike.
#include <cmath>
#include <cstdio>
#include <string>

#include "kernels/registry.h"
#include "runner/execute.h"

namespace assay {
namespace {

int failures = 0;

void Expect(bool holds, const std::string& what) {
  if (!holds) ++failures;
  std::printf("%-4s %s\n", holds ? "ok" : "FAIL", what.c_str());
}

ExecutedCase Run(const std::string& name, const ParameterMap& given, bool counters) {
  ExecutedCase failed;
  const auto benchmark = BuiltinBenchmarks().Find(name);
  if (!benchmark.ok()) {
    failed.error = benchmark.status();
    return failed;
  }
  auto parameters = CheckParameters(**benchmark, given);
  if (!parameters.ok()) {
    failed.error = parameters.status();
    return failed;
  }
  RunContext context;
  context.parameters = *parameters;
  ExecuteOptions options;
  options.counters = counters;
  Result<ExecutedCase> ran = ExecuteCase(**benchmark, context, options);
  if (ran.ok()) return std::move(ran).value();
  failed.error = ran.status();
  return failed;
}

// The median of "time", in seconds; NaN if the case failed.
double TimeOf(const ExecutedCase& executed) {
  for (const v1::Measurement& measurement : executed.result.measurements()) {
    if (measurement.metric() == "time") return measurement.median();
  }
  Expect(false, executed.result.benchmark() + ": " + executed.error.ToString());
  return std::nan("");
}

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// A copy of 1 GiB (its array of 512 MiB is read and written) moves what it declares.
void TestCopy() {
  const ExecutedCase copy = Run("memory_bandwidth", {{"op", "copy"}, {"bytes", "536870912"}}, true);
  const v1::Counters& counters = copy.result.counters();
  Expect(copy.result.kernels_size() > 0, "copy: names of kernels");
  if (!copy.result.has_counters()) return Expect(false, "copy: counters; " + copy.error.ToString());
  std::printf("     source %s, %s\n", counters.source().c_str(), counters.reason().c_str());
  if (counters.source() == "cupti") {
    const double moved = counters.dram_read_bytes() + counters.dram_write_bytes();
    const double declared = copy.result.prediction().bytes();
    Expect(std::fabs(moved / declared - 1) < 0.05,
           "copy: " + Text(moved) + " bytes of memory moved, " + Text(declared) + " declared");
    // Reads of new bytes miss, writes hit.
    const double hits = counters.l2_hit_rate();
    Expect(std::fabs(hits - 0.5) < 0.1, "copy: L2 hit rate " + Text(hits));
  }
  Expect(counters.source() != "analytic", "copy: counters were read");
}

// Checks that l2_hit_rate stays a rate although the benchmark hardly uses the L2 cache.
void TestFewLookups() {
  const v1::Counters counters = Run("bank_conflict", {{"ways", "1"}}, true).result.counters();
  if (counters.source() != "cupti") return;
  const double hits = counters.has_l2_hit_rate() ? counters.l2_hit_rate() : -1;
  Expect(hits >= 0 && hits <= 1, "bank_conflict: L2 hit rate " + Text(hits));
}

void TestGemm() {
  const v1::CaseResult gemm =
      Run("gemm", {{"m", "8192"}, {"n", "8192"}, {"k", "8192"}, {"dtype", "bf16"}}, true).result;
  const double tensor = gemm.counters().tensor_pipe_active();
  Expect(tensor > 0.5, "gemm bf16: tensor pipe active " + Text(tensor) + " of the time");
  Expect(gemm.kernels_size() > 0,
         "gemm bf16: kernel " + (gemm.kernels().empty() ? "unknown" : gemm.kernels(0)));
}

// Prints the median time of `name`, and again after a case with names and counters.
void PrintTrace(const std::string& name, const ParameterMap& parameters) {
  const double before = TimeOf(Run(name, parameters, true));
  const double after = TimeOf(Run(name, parameters, false));
  std::printf("     %s: %s s before CUPTI was used, %s s after\n", name.c_str(),
              Text(before).c_str(), Text(after).c_str());
}

int Main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (Gpu() == nullptr || Gpu()->Gpus().empty()) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  // First: what is timed in it has never seen CUPTI.
  PrintTrace("launch_overhead", {{"launch", "graph"}});
  PrintTrace("vector_add", {{"launch", "graph"}});
  TestCopy();
  TestFewLookups();
  TestGemm();
  PrintTrace("launch_overhead", {{"launch", "graph"}});
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main() { return assay::Main(); }
