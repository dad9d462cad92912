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

// Returns the rule that decides when a measurement ends. On GPUs it includes a longer warm-up,
// until clocks and power have settled.
MeasureRule RuleFor(Resource resource);

// Runs one case in this process, which may be one rank of a gang (processes that run a collective
// together). All ranks must call this at about the same time. If the case fails, the result says
// so; an error is returned only if the gang broke (PEER_LOST, PEER_TIMEOUT). The result is complete
// at rank 0 only.
Result<ExecutedCase> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                                 const ExecuteOptions& options);

}  // namespace assay
