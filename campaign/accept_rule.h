// Parses and checks accept rules, which set limits for the results of a campaign (a planned set of
// benchmark runs), for example
//   gemm[dtype=bf16, m=8192].tflops >= 65% of spec
//   all_reduce[bytes=1GiB, ranks=8].bus_bandwidth >= 340 GB/s
//   gemm.tflops >= 95% of baseline accepted-in-may
//   gemm.tflops spread <= 5%
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/v1/benchmark.pb.h"
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
  // The limit in `unit`, or a percentage of the peak in the spec sheet or of a baseline.
  double threshold = 0;
  std::string unit;
  bool percent_of_spec = false;
  // Name of the baseline of which `threshold` is a percentage; else empty.
  std::string baseline;
  // True if the rule limits the spread of results of the same case: the difference between the best
  // and the worst, as a percentage of their median. False if it limits each result.
  bool spread = false;

  // Returns true if `value` satisfies the comparison with `limit`. Returns false for NaN.
  bool Holds(double value, double limit) const;
  // Returns true for `>=` and `>`, which set a lower limit.
  bool WantsLarge() const {
    return comparison == Comparison::kAtLeast || comparison == Comparison::kAbove;
  }
};

// Parses one rule. An error names the position (counted from 1) and what was expected there.
Result<AcceptRule> ParseAcceptRule(std::string_view text);

// Checks a rule against the schema of its benchmark. Returns INVALID_ARGUMENT unless
//   - the metric and the parameters exist,
//   - the rule's unit can be converted to that of the metric,
//   - for a limit in `% of spec`, the benchmark runs on GPUs and higher values are better, and
//   - the rule applies to at least one of `cases`, unless `cases` is null.
Status CheckAcceptRule(const AcceptRule& rule, const v1::BenchmarkSchema& schema,
                       const std::vector<ParameterMap>* cases);

// Returns true if the rule covers a case with these canonical parameters.
bool Covers(const AcceptRule& rule, const ParameterMap& parameters);

// Returns the factor that converts numbers in the unit `from` to the unit `to`, for example 1000
// from "TFLOP/s" to "GFLOP/s". Returns nullopt if the units differ by more than their prefix.
std::optional<double> UnitFactor(std::string_view from, std::string_view to);

}  // namespace assay::campaign
