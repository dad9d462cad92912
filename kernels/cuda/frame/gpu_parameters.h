// Parameters that most GPU benchmarks share, and values derived from them. Compiles without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/declaration.h"

namespace assay {

// Returns the declaration of the "cache" parameter, either cold (default) or hot. `what`
// completes the parameter's description by naming the data that stays in the cache, such as "one
// set of arrays".
Parameter CacheParameter(const std::string& what);
// Returns the declaration of the parameter "fill": random (default) or zeros.
Parameter FillParameter();
// Returns the declaration of the parameter "launch": stream (default) or graph.
Parameter LaunchParameter();
// Returns the declaration of the parameter "dtype"; the first of `choices` is the default.
Parameter DtypeParameter(const std::vector<std::string>& choices);

// Returns the bytes of an element of type "fp32", "bf16" or "fp16".
inline int64_t ElementBytes(const std::string& dtype) { return dtype == "fp32" ? 4 : 2; }

// The minimum time of any kernel on an H200, in seconds: kStreamLaunchSeconds if kernels are
// launched one by one on a busy stream, and kGraphLaunchSeconds if they are part of a CUDA graph.
inline constexpr double kStreamLaunchSeconds = 2.5e-6;
inline constexpr double kGraphLaunchSeconds = 0.6e-6;

// Returns kGraphLaunchSeconds if the "launch" parameter is "graph", and kStreamLaunchSeconds
// otherwise. Benchmarks with one kernel per iteration use it as Work::fixed_seconds, the fixed
// part of the predicted time.
double LaunchSeconds(const ParameterMap& parameters);

}  // namespace assay
