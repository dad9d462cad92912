// A campaign's accept rules, each of which bounds a metric, and the verdict that they give:
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

namespace assay::coordinator {

struct AcceptRule {
  enum class Comparison { kAtLeast, kAtMost, kAbove, kBelow };

  std::string text;  // As the user wrote it.
  std::string benchmark;
  // The rule covers cases that have all of these parameter values.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string metric;
  Comparison comparison = Comparison::kAtLeast;
  // In `unit`, or a percentage of the spec sheet's peak.
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

// Parses one rule. INVALID_ARGUMENT names the character (1-based) and what was expected there.
Result<AcceptRule> ParseAcceptRule(std::string_view text);

// Checks a rule against its benchmark's schema: the metric, its unit and the parameters must exist,
// and a percentage of the spec sheet needs a rate of a GPU. Unless `cases` is null, at least one of
// the campaign's cases must have the values that the rule names.
Status CheckAcceptRule(const AcceptRule& rule, const v1::BenchmarkSchema& schema,
                       const std::vector<ParameterMap>* cases);

// Returns true if the rule covers a case with these canonical parameters.
bool Covers(const AcceptRule& rule, const ParameterMap& parameters);

// Returns the factor that converts a number in `from` to `to`: 1000 from "TFLOP/s" to "GFLOP/s".
// Returns nullopt if the units differ by more than an SI or binary prefix.
std::optional<double> UnitFactor(std::string_view from, std::string_view to);

struct CampaignVerdict {
  v1::Verdict verdict = v1::VERDICT_FAILED;
  std::vector<v1::RuleVerdict> rules;
};

// Returns the name that users know a GPU by: "GPU 3" for its UUID, or the UUID itself if it is
// unknown.
using GpuNames = std::function<std::string(const std::string& uuid)>;

// Judges an ended campaign. Every run's median must satisfy each rule that covers its case. A rule
// without results fails, and so does `% of spec` for a GPU without a spec sheet. The campaign
// passes if every rule holds and every job succeeded or was skipped.
CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const GpuNames& gpu_names);

// Judges one rule over all results. The explanation names the deciding number and its place.
v1::RuleVerdict JudgeRule(const std::string& rule, const std::vector<v1::StoredResult>& results,
                          const GpuNames& gpu_names);

}  // namespace assay::coordinator
