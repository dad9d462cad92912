// One line of a campaign's `accept`: what a metric has to reach.
//   gemm[dtype=bf16, m=8192].tflops >= 65% of spec
//   all_reduce[bytes=1GiB, ranks=8].bus_bandwidth >= 340 GB/s
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "model/parameter.h"
#include "common/status.h"

namespace assay::coordinator {

struct AcceptRule {
  enum class Comparison { kAtLeast, kAtMost, kAbove, kBelow };

  std::string text;  // As the user wrote it.
  std::string benchmark;
  // Parameter and value; a case has to have all of them.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string metric;
  Comparison comparison = Comparison::kAtLeast;
  // In `unit`, or a percentage of the spec sheet's peak.
  double threshold = 0;
  std::string unit;
  bool percent_of_spec = false;

  // True if `value` satisfies the comparison with `limit`. NaN never does.
  bool Holds(double value, double limit) const;
  // True if larger values are the better ones: `>=` and `>`.
  bool WantsLarge() const {
    return comparison == Comparison::kAtLeast || comparison == Comparison::kAbove;
  }
};

// INVALID_ARGUMENT says at which character (1-based) what was expected.
Result<AcceptRule> ParseAcceptRule(std::string_view text);

// Checks a rule against its benchmark's schema and, unless null, the canonical
// parameters of the campaign's cases: the metric, its unit, the parameters, that some
// case has the values named, and that what is compared with a spec sheet is a GPU's rate.
Status CheckAcceptRule(const AcceptRule& rule, const v1::BenchmarkSchema& schema,
                       const std::vector<ParameterMap>* cases);

// True if a case with these canonical parameters is one that the rule speaks of.
bool Covers(const AcceptRule& rule, const ParameterMap& parameters);

// What to multiply a number in `from` by to have it in `to`: 1000 from "TFLOP/s" to
// "GFLOP/s". nullopt if they differ by more than an SI or binary prefix.
std::optional<double> UnitFactor(std::string_view from, std::string_view to);

}  // namespace assay::coordinator
