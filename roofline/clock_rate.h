// What one SM can do in one clock, by architecture.
#pragma once

#include <optional>
#include <string>

namespace assay {

// Dense FLOP (operations for int8) per SM and clock of the GPU with the spec sheet
// `gpu` (GpuSpec::name) in `column` (Work::peak), or what Work::sm_rate names. Absent where
// NVIDIA's papers do not give it: then no peak at a clock can be told.
std::optional<double> RatePerClock(const std::string& gpu, const std::string& column);

}  // namespace assay
