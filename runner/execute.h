// One case from parameters to report.
#pragma once

#include <functional>
#include <string>

#include "runner/case_result.h"

namespace assay {

struct ExecuteOptions {
  // False: verify only, for the self-test.
  bool measure = true;
  // Hardware counters, in runs apart from the timed ones.
  bool counters = false;
  // Told "verify", "warm_up", "measure", "profile" as they begin. May be empty.
  std::function<void(const std::string& phase)> on_phase;
};

// The stopping rule that fits the resource: GPUs need longer until clocks and
// power settle.
MeasureRule RuleFor(Resource resource);

// Runs the case on this rank: all ranks of a gang call it at about the same time.
// What goes wrong is in the result, which is complete at rank 0 only. An error
// instead of a result means that the gang is over (PEER_LOST, PEER_TIMEOUT).
Result<ExecutedCase> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                                 const ExecuteOptions& options);

}  // namespace assay
