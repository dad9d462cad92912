// Runs one case on this machine without an agent.
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
  std::optional<int> gpu;  // Nullopt: GPU 0, or in a gang GPU r for rank r.
};

// Returns the number of ranks.
int WorldSizeOf(const LocalCase& one);

// Returns INVALID_ARGUMENT if the case cannot run on the GPU that it names.
Status CheckGpu(const LocalCase& one);

// Returns INVALID_ARGUMENT if the case has no hardware counters.
Status CheckCounters(const LocalCase& one);

// Runs the case in one or more processes (ranks), as its benchmark requires. If the case fails, the
// result says so. Returns an error only if one of the processes did not start or was lost.
Result<ExecutedCase> RunHere(const LocalCase& one, const ExecuteOptions& execute);

// Adds the GPU model, the form factor and the topology to a result of RunHere(), as an agent would.
// Derives the model and the form factor from the GPU's name, and the topology from the links listed
// by NVML, NVIDIA's library for querying GPUs.
void IdentifyHardware(const LocalCase& one, v1::CaseResult* result);

// Returns the exit code for a runner that has run this case.
int ExitCodeOf(const ExecutedCase& executed);

}  // namespace assay
