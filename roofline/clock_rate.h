// Operations per clock of one SM, by architecture.
#pragma once

#include <optional>
#include <string>

namespace assay {

// Returns dense FLOP (operations for int8) per SM and clock of the GPU with the spec sheet `gpu`
// (GpuSpec::name): in `column` (Work::peak), or of a Work::sm_rate. Returns nothing if NVIDIA's
// papers do not give it; then no peak at a given clock can be computed.
std::optional<double> RatePerClock(const std::string& gpu, const std::string& column);

}  // namespace assay
