// Finds conditions that changed together with the performance.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::analysis {

// The conditions of one run, by the name of a result field.
struct RunConditions {
  std::map<std::string, double> numbers;     // sm_clock_mhz, power_watts, ...
  std::map<std::string, std::string> texts;  // gpu.kernel, collective.algorithm, throttle_reason
};

struct ConditionChange {
  std::string field;
  std::optional<double> before, after;  // Medians.
  std::string text_before, text_after;  // The most frequent text.
};

// Returns the conditions that differ between the runs before and after a step (a lasting change in
// performance). A text differs if it changed. A number differs if its median changed by more than
// it usually varies between runs, and by more than a threshold: 1% for clocks, 50% for loads, and
// 3% for all others, such as power and temperature. Lists texts first, then clocks, then the
// others.
std::vector<ConditionChange> ExplainStep(const std::vector<RunConditions>& before,
                                         const std::vector<RunConditions>& after);

}  // namespace assay::analysis
