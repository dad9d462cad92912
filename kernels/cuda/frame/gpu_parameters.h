// Parameters that most GPU benchmarks have, and what follows from them. Compiles without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/declaration.h"

namespace assay {

// Returns the parameter "cache": cold (default) or hot. `what` names what stays in the cache: "one
// set of arrays".
Parameter CacheParameter(const std::string& what);
// Returns the parameter "fill": random (default) or zeros.
Parameter FillParameter();
// Returns the parameter "launch": stream (default) or graph.
Parameter LaunchParameter();
// Returns the parameter "dtype", one of `choices`; the first is the default.
Parameter DtypeParameter(const std::vector<std::string>& choices);

// Bytes of an element of "fp32", "bf16" or "fp16".
inline int64_t ElementBytes(const std::string& dtype) { return dtype == "fp32" ? 4 : 2; }

// The shortest time of a kernel on an H200, launched from a stream that is kept full or within a
// graph.
inline constexpr double kStreamLaunchSeconds = 2.5e-6;
inline constexpr double kGraphLaunchSeconds = 0.6e-6;

// Returns the one of them that "launch" selects, which is Work::fixed_seconds of a benchmark with
// one kernel.
double LaunchSeconds(const ParameterMap& parameters);

}  // namespace assay
