// Does the engine give the same number again, and see a small change? On a GPU that
// nothing else uses, in about two minutes:
//   100 measurements of one bf16 GEMM: the 95th percentile of their medians' distance
//   from the median of all must be at most 1%;
//   the same GEMM with a kernel that is 3% longer (k = 4224 in place of 4096), measured
//   in turns with the first: at least 95% of the pairs must show it.
// All in one process, on one prepared case of each (the same memory, the same algorithm of
// cuBLASLt), and with the warm-up held at 0.25 s on a GPU that is hot: what a GPU and the engine
// repeat, and no more. Runs apart prepare and tune anew, wait for power to settle, and differ by
// that too.
// Prints every median; exit code 1 if either is missed, 77 without a GPU.
//   gpu_repeatability [REPETITIONS]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/frame/device.h"
#include "kernels/registry.h"
#include "runner/execute.h"
#include "runner/gang.h"

namespace assay {
namespace {

constexpr int kRepetitions = 100;
constexpr int kLeastRepetitions = 5;
// How many of the repetitions also run the longer kernel.
constexpr double kPairShare = 0.4;
// Half of the planted 3%.
constexpr double kSeen = 1.015;

// Once the GPU is hot it does not rest here, so that measurements need no long warm-up;
// all else is as in every measurement.
MeasureRule RuleWhileHot() {
  MeasureRule rule = RuleFor(Resource::kGpu);
  rule.min_warmup_seconds = 0.25;
  rule.max_warmup_seconds = 0.25;
  return rule;
}

Result<std::unique_ptr<Case>> PrepareGemm(const RunContext& base, const char* k) {
  ASSAY_ASSIGN_OR_RETURN(const Benchmark* gemm, BuiltinBenchmarks().Find("gemm"));
  RunContext context = base;
  ASSAY_ASSIGN_OR_RETURN(context.parameters,
                         CheckParameters(*gemm, {{"m", "4096"}, {"n", "4096"}, {"k", k}}));
  return gemm->Prepare(context);
}

// Returns the median of one measurement in microseconds.
Result<double> MedianOf(Case& prepared, const MeasureRule& rule, const RunContext& context) {
  ASSAY_ASSIGN_OR_RETURN(const MeasuredTimes times,
                         MeasureOnAllRanks(prepared, rule, context, MeasureHooks()));
  return Summarize(times.seconds).median * 1e6;
}

Status Passed(const Result<Verdict>& verdict) {
  if (!verdict.ok()) return verdict.status();
  return verdict->passed ? Status::Ok() : Internal(verdict->detail, Reason::kVerificationFailed);
}

// The 95th percentile of distances from the median, over the median.
double Spread(const std::vector<double>& medians) {
  const double centre = Summarize(medians).median;
  std::vector<double> distances;
  distances.reserve(medians.size());
  for (const double median : medians) distances.push_back(std::fabs(median / centre - 1));
  return Summarize(distances).p95;
}

// Verifies a case, and heats the GPU as a measurement by itself does.
Status WarmUp(Case& prepared, const RunContext& context) {
  ASSAY_RETURN_IF_ERROR(Passed(prepared.Verify()));
  MeasureRule rule = RuleFor(Resource::kGpu);
  prepared.AdjustRule(&rule);
  return MedianOf(prepared, rule, context).status();
}

Status Run(int repetitions, bool* passed) {
  RunContext context;
  context.seed = 11;
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Case> same, PrepareGemm(context, "4096"));
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Case> longer, PrepareGemm(context, "4224"));
  for (Case* prepared : {longer.get(), same.get()}) {
    ASSAY_RETURN_IF_ERROR(WarmUp(*prepared, context));
  }
  const MeasureRule rule = RuleWhileHot();
  const auto begin = std::chrono::steady_clock::now();
  const int pairs = static_cast<int>(std::lround(kPairShare * repetitions));
  std::vector<double> medians;
  int seen = 0;
  for (int i = 0; i < repetitions; ++i) {
    ASSAY_ASSIGN_OR_RETURN(const double median, MedianOf(*same, rule, context));
    medians.push_back(median);
    std::printf("%d: %.2f us", i, median);
    if (i < pairs) {
      ASSAY_ASSIGN_OR_RETURN(const double slow, MedianOf(*longer, rule, context));
      seen += slow / median > kSeen ? 1 : 0;
      std::printf(", longer %.2f us, ratio %.4f", slow, slow / median);
    }
    std::printf("\n");
  }
  ASSAY_RETURN_IF_ERROR(Passed(same->VerifyLast()));
  ASSAY_RETURN_IF_ERROR(Passed(longer->VerifyLast()));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const auto half = medians.begin() + repetitions / 2;
  const double p95 = Spread(medians);
  std::printf("%d repetitions in %.0f s: median %.2f us, 95%% of them within %.3f%%\n", repetitions,
              took.count(), Summarize(medians).median, p95 * 100);
  std::printf("median of the first half %.2f us, of the second %.2f us\n",
              Summarize({medians.begin(), half}).median, Summarize({half, medians.end()}).median);
  std::printf("a kernel longer by 3%%: seen in %d of %d pairs\n", seen, pairs);
  *passed = p95 <= 0.01 && seen >= 0.95 * pairs;
  return Status::Ok();
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // What came before a time limit is read.
  if (const std::string why = assay::WhyNoGpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : assay::kRepetitions;
  if (repetitions < assay::kLeastRepetitions) {
    std::printf("REPETITIONS must be a number of at least %d\n", assay::kLeastRepetitions);
    return 2;
  }
  bool passed = false;
  const assay::Status status = assay::Run(repetitions, &passed);
  if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
  return status.ok() && passed ? 0 : 1;
}
