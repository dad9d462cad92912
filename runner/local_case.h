// One case on this machine without an agent.
#pragma once

#include <optional>

#include "kernels/benchmark.h"
#include "runner/case_result.h"
#include "runner/execute.h"

namespace assay {

struct LocalCase {
  const Benchmark* benchmark = nullptr;
  ParameterMap parameters;  // Canonical.
  uint64_t seed = 1;
  std::optional<int> gpu;  // Absent: 0, and in a gang each rank's own.
};

// How many ranks the case has.
int WorldSizeOf(const LocalCase& one);

// OK if the GPU that is named, if any, is one that the case can be on.
Status CheckGpu(const LocalCase& one);

// OK if hardware counters are read of the case.
Status CheckCounters(const LocalCase& one);

// Runs the case, with as many ranks as it asks for. The error is that of its gang, which is over.
Result<ExecutedCase> RunHere(const LocalCase& one, const ExecuteOptions& execute);

// Completes the environment of a result of RunHere by the rules that agents apply: GPU model and
// form factor from the GPU's name, and the topology from the links that NVML lists.
void IdentifyHardware(const LocalCase& one, v1::CaseResult* result);

// What a runner ends with that has run this case.
int ExitCodeOf(const ExecutedCase& executed);

}  // namespace assay
