// Runs one case, from its parameters to its result.
#pragma once

#include <functional>
#include <string>

#include "runner/case_result.h"

namespace assay {

struct ExecuteOptions {
  // Set to false to verify only, as the self-test does.
  bool measure = true;
  // Reads hardware counters, in separate runs after the timed ones.
  bool counters = false;
  // Called when a phase begins: "verify", "warm_up", "measure" or "profile". May be empty.
  std::function<void(const std::string& phase)> on_phase;
};

// Returns the stopping rule for a resource. GPUs get a longer warm-up, until clocks and power
// settle.
MeasureRule RuleFor(Resource resource);

// Runs the case on this rank. All ranks of a gang call it at about the same time. A failure of the
// case is in the result, which is complete at rank 0 only. An error instead of a result means that
// the gang broke (PEER_LOST, PEER_TIMEOUT).
Result<ExecutedCase> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                                 const ExecuteOptions& options);

}  // namespace assay
