// The level "registers" of pointer_chase and cache_bandwidth, whose kernels do not read memory.
#pragma once

#include <memory>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// Makes the case of pointer_chase that measures the latency of dependent instructions on registers.
Result<std::unique_ptr<Case>> NewRegisterChaseCase(const RunContext& context);

// Makes the case of cache_bandwidth in which all multiprocessors read operands from registers.
Result<std::unique_ptr<Case>> NewRegisterBandwidthCase(const RunContext& context);

}  // namespace assay
