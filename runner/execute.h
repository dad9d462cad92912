// Runs one case, from its parameters to its result.
#pragma once

#include <functional>
#include <string>

#include "runner/case_result.h"

namespace assay {

struct ExecuteOptions {
  // Set to false to verify only, as the self-test does.
  bool measure = true;
  // If true, reads hardware counters in separate runs after the timed ones.
  bool counters = false;
  Effort effort = Effort::kStandard;
  // Called when a phase begins: "verify", "warm_up", "measure" or "profile". May be empty.
  std::function<void(const std::string& phase)> on_phase;
};

// Returns the rule that decides how long a measurement warms up and when it ends. GPUs warm up for
// longer, so that clocks and power can settle.
MeasureRule RuleFor(Resource resource);

// Runs one case (a benchmark with fixed parameters) in this process. All processes of a gang (which
// run a collective together) must call this at about the same time, and only rank 0 receives the
// complete result. If the case fails, the result says so. Returns an error (PEER_LOST or
// PEER_TIMEOUT) only if another process of the gang was lost.
Result<ExecutedCase> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                                 const ExecuteOptions& options);

}  // namespace assay
