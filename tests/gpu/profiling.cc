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

CaseReport Run(const std::string& name, const ParameterMap& given, bool counters) {
  CaseReport report;
  const auto benchmark = BuiltinBenchmarks().Find(name);
  if (!benchmark.ok()) {
    report.error = benchmark.status();
    return report;
  }
  auto parameters = CanonicalParameters((*benchmark)->Info().parameters, given);
  if (!parameters.ok()) {
    report.error = parameters.status();
    return report;
  }
  RunContext context;
  context.parameters = *parameters;
  ExecuteOptions options;
  options.counters = counters;
  Result<CaseReport> ran = ExecuteCase(**benchmark, context, options);
  if (ran.ok()) return std::move(ran).value();
  report.error = ran.status();
  return report;
}

// The median of "time", in seconds; NaN if the case failed.
double TimeOf(const CaseReport& report) {
  for (const ReportedMetric& metric : report.metrics) {
    if (metric.metric.name == "time") return metric.summary.median;
  }
  Expect(false, report.benchmark + ": " + report.error.ToString());
  return std::nan("");
}

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// A copy of 1 GiB (its array of 512 MiB read, and written) moves what it declares.
void TestCopy() {
  const CaseReport copy = Run("memory_bandwidth", {{"op", "copy"}, {"bytes", "536870912"}}, true);
  Expect(!copy.kernels.empty(), "copy: names of kernels");
  if (!copy.counters) return Expect(false, "copy: counters; " + copy.error.ToString());
  std::printf("     source %s, %s\n", copy.counters->source.c_str(), copy.counters->reason.c_str());
  if (copy.counters->source == "cupti") {
    const double moved =
        copy.counters->dram_read_bytes.value_or(0) + copy.counters->dram_write_bytes.value_or(0);
    const double declared = copy.prediction.bytes.value_or(0);
    Expect(std::fabs(moved / declared - 1) < 0.05,
           "copy: " + Text(moved) + " bytes of memory moved, " + Text(declared) + " declared");
    // Reads of new bytes miss, writes hit.
    const double hits = copy.counters->l2_hit_rate.value_or(0);
    Expect(std::fabs(hits - 0.5) < 0.1, "copy: L2 hit rate " + Text(hits));
  }
  Expect(copy.counters->source != "analytic", "copy: counters were read");
}

// It hardly uses the L2 cache, whose rate is of few lookups then, and a rate still.
void TestFewLookups() {
  const CaseReport report = Run("bank_conflict", {{"ways", "1"}}, true);
  if (!report.counters || report.counters->source != "cupti") return;
  const double hits = report.counters->l2_hit_rate.value_or(-1);
  Expect(hits >= 0 && hits <= 1, "bank_conflict: L2 hit rate " + Text(hits));
}

void TestGemm() {
  const CaseReport gemm =
      Run("gemm", {{"m", "8192"}, {"n", "8192"}, {"k", "8192"}, {"dtype", "bf16"}}, true);
  const double tensor = gemm.counters ? gemm.counters->tensor_pipe_active.value_or(0) : 0;
  Expect(tensor > 0.5, "gemm bf16: tensor pipe active " + Text(tensor) + " of the time");
  Expect(!gemm.kernels.empty(),
         "gemm bf16: kernel " + (gemm.kernels.empty() ? "unknown" : gemm.kernels[0]));
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
