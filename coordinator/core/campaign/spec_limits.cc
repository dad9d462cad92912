#include "coordinator/core/campaign/spec_limits.h"

#include <fmt/format.h>

#include <cstdlib>

#include "common/text.h"
#include "model/limits.h"

namespace assay::coordinator {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr int64_t kMinTimeoutSeconds = 1;
constexpr int64_t kMaxTimeoutSeconds = 24 * 3600;
constexpr int kMaxBenchmarks = 1000;
constexpr int kMaxAcceptRules = 1000;

void CheckRange(const v1::CampaignSpec& spec, const std::string& field, int64_t value, int64_t low,
                int64_t high, Violations& violations) {
  if (value >= low && value <= high) return;
  violations.Add(field, fmt::format("{} is not a whole number from {} to {}", value, low, high),
                 LineOf(spec, field));
}

}  // namespace

void CheckCampaignFields(const v1::CampaignSpec& spec, Violations& violations) {
  if (spec.name().empty()) {
    violations.Add("name", "is missing; a campaign needs a name", LineOf(spec, "name"));
  } else if (spec.name().size() > kMaxNameBytes || !IsPlainText(spec.name())) {
    violations.Add(
        "name", fmt::format("must be at most {} bytes without control characters", kMaxNameBytes),
        LineOf(spec, "name"));
  }
  CheckRange(spec, "repetitions", RepetitionsOf(spec), 1, kMaxRepetitions, violations);
  CheckRange(spec, "retries", spec.retries(), 0, kMaxRetries, violations);
  CheckRange(spec, "priority", spec.priority(), -kMaxPriority, kMaxPriority, violations);
  if (spec.has_timeout()) {
    const int64_t seconds = spec.timeout().seconds();
    const int32_t nanos = spec.timeout().nanos();
    if (nanos < 0 || nanos > 999'999'999 || seconds < kMinTimeoutSeconds ||
        seconds > kMaxTimeoutSeconds || (seconds == kMaxTimeoutSeconds && nanos > 0)) {
      violations.Add("timeout",
                     fmt::format("{}.{:03} s is not a duration from 1s to 24h", seconds,
                                 std::abs(nanos) / 1'000'000),
                     LineOf(spec, "timeout"));
    }
  }
  if (!v1::Exclusivity_IsValid(spec.exclusive())) {
    violations.Add("exclusive", "must be node or gpu", LineOf(spec, "exclusive"));
  }
  if (!v1::PlacementPolicy_IsValid(spec.placement())) {
    violations.Add("placement", "must be each, any or pairs", LineOf(spec, "placement"));
  }
  if (!v1::Unplaceable_IsValid(spec.unplaceable())) {
    violations.Add("unplaceable", "must be refuse or skip", LineOf(spec, "unplaceable"));
  }
  for (int i = 0; i < spec.benchmarks_size(); ++i) {
    if (v1::Unplaceable_IsValid(spec.benchmarks(i).unplaceable())) continue;
    violations.Add(fmt::format("benchmarks[{}].unplaceable", i), "must be refuse or skip",
                   spec.benchmarks(i).line());
  }
  if (spec.benchmarks().empty()) {
    violations.Add("benchmarks", "is empty; a campaign needs at least one benchmark",
                   LineOf(spec, "benchmarks"));
  } else if (spec.benchmarks_size() > kMaxBenchmarks) {
    violations.Add(
        "benchmarks",
        fmt::format("has {} entries; the limit is {}", spec.benchmarks_size(), kMaxBenchmarks),
        LineOf(spec, "benchmarks"));
  }
  if (spec.accept_size() > kMaxAcceptRules) {
    violations.Add(
        "accept", fmt::format("has {} rules; the limit is {}", spec.accept_size(), kMaxAcceptRules),
        LineOf(spec, "accept"));
  }
}

int LineOf(const v1::CampaignSpec& spec, const std::string& field) {
  const auto found = spec.lines().find(field);
  return found == spec.lines().end() ? 0 : found->second;
}

Duration TimeoutOf(const v1::CampaignSpec& spec) {
  if (!spec.has_timeout()) return std::chrono::minutes(20);
  return std::chrono::seconds(spec.timeout().seconds()) +
         std::chrono::nanoseconds(spec.timeout().nanos());
}

int RepetitionsOf(const v1::CampaignSpec& spec) {
  return spec.repetitions() == 0 ? 1 : spec.repetitions();
}

}  // namespace assay::coordinator
