// Parses and evaluates accept rules, which set limits for the results of a campaign's benchmarks,
// for example
//   gemm[dtype=bf16, m=8192].tflops >= 65% of spec
//   all_reduce[bytes=1GiB, ranks=8].bus_bandwidth >= 340 GB/s
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::campaign {

struct AcceptRule {
  enum class Comparison { kAtLeast, kAtMost, kAbove, kBelow };

  std::string text;  // As the user wrote it.
  std::string benchmark;
  // The rule covers cases (single runs of the benchmark) that have all of these parameter values.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string metric;
  Comparison comparison = Comparison::kAtLeast;
  // The limit in `unit`, or a percentage of the spec sheet's peak.
  double threshold = 0;
  std::string unit;
  bool percent_of_spec = false;

  // Returns true if `value` satisfies the comparison with `limit`. NaN never does.
  bool Holds(double value, double limit) const;
  // Returns true for `>=` and `>`: larger values are better.
  bool WantsLarge() const {
    return comparison == Comparison::kAtLeast || comparison == Comparison::kAbove;
  }
};

// Parses one rule. An error names the position (counted from 1) and what was expected there.
Result<AcceptRule> ParseAcceptRule(std::string_view text);

// Checks that the rule's metric and parameters exist in the benchmark's schema, and that the rule's
// unit can be converted to the metric's unit. A limit in `% of spec` is allowed only for GPU
// benchmarks, and only if higher values of the metric are better. If `cases` is not null, the rule
// must apply to at least one of these cases. Returns INVALID_ARGUMENT if a check fails.
Status CheckAcceptRule(const AcceptRule& rule, const v1::BenchmarkSchema& schema,
                       const std::vector<ParameterMap>* cases);

// Returns true if the rule covers a case with these canonical parameters.
bool Covers(const AcceptRule& rule, const ParameterMap& parameters);

// Returns the factor that converts numbers in the unit `from` to the unit `to`, for example 1000
// for "TFLOP/s" and "GFLOP/s". Returns nullopt if the units differ by more than an SI or binary
// prefix.
std::optional<double> UnitFactor(std::string_view from, std::string_view to);

struct CampaignVerdict {
  v1::Verdict verdict = v1::VERDICT_FAILED;
  std::vector<v1::RuleVerdict> rules;
};

// A function that returns the display name of the GPU with this UUID, such as "GPU 3", or the UUID
// itself if the GPU is unknown.
using GpuNames = std::function<std::string(const std::string& uuid)>;

// Returns the verdict on a finished campaign. The campaign passes if all its accept rules hold and
// no job failed or was cancelled. A rule holds if the medians of all results to which it applies
// are within its limit. A rule fails if it applies to no result, or if it needs the spec sheet of a
// GPU that has none.
CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const GpuNames& gpu_names);

// Evaluates one rule on all results. The verdict includes an explanation with the worst value and
// where it was measured. If the rule fails, the explanation begins with the number and the cases of
// the results that violate the rule. It also names cases without a value, which failed or are not
// supported.
v1::RuleVerdict JudgeRule(const std::string& rule, const std::vector<v1::StoredResult>& results,
                          const GpuNames& gpu_names);

}  // namespace assay::campaign
