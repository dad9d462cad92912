// What tells the series of a link model apart: on which machine, and what was moved how.
#pragma once

#include <string>

#include "host/platform.h"
#include "kernels/benchmark.h"

namespace assay {

// S of the alpha-beta model in bytes; 0 if the work moves nothing over a link.
double LinkBytes(const Work& work);

// The case without its size: benchmark, version, and all parameters but "bytes".
std::string LinkSeries(const BenchmarkInfo& info, const ParameterMap& parameters);

// The hardware and software under all ranks, in rank order: GPUs (or hosts) by name,
// driver, NCCL, and the NCCL_* variables of this process that steer it. `gpu` is this
// rank's, null for none. All ranks of a gang call it; an error is the gang's end.
Result<std::string> LinkMachine(Peers* peers, const LocalGpu* gpu, const RunContext& context);

}  // namespace assay
