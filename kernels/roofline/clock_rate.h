// What one SM can do in one clock, by architecture.
#pragma once

#include <optional>
#include <string>

namespace assay {

// Dense FLOP (operations for int8) per SM and clock of the GPU with the spec sheet
// `gpu` (GpuSpec::name) in `column` (Work::peak). Absent where the architecture's
// papers do not give it: then no peak at a clock can be told.
std::optional<double> FlopsPerClock(const std::string& gpu, const std::string& column);

}  // namespace assay
