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

// Returns the conditions that differ between the runs before and the runs after a step. Includes
// texts that changed. Includes numbers whose medians differ by more than the runs on each side
// differ among themselves, and by more than the field's threshold (1% for clocks, 3% for power and
// temperature, 50% for loads). Lists the most important conditions first: texts, then clocks, then
// the others.
std::vector<ConditionChange> ExplainStep(const std::vector<RunConditions>& before,
                                         const std::vector<RunConditions>& after);

}  // namespace assay::analysis
