// The host's memory that this process may use. All functions return bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns how many bytes this process can still allocate. This is the smaller of the memory that
// Linux reports as available and the memory that the limits of control groups leave. Returns
// nullopt if both are unknown. Tests pass `root`, which is prepended to the paths of /proc and
// /sys.
std::optional<int64_t> AvailableHostBytes(const std::string& root = "");

// Returns the machine's total memory in bytes, or the tightest control group limit if that is less.
// Returns nullopt if both are unknown.
std::optional<int64_t> UsableHostBytes(const std::string& root = "");

// Returns how many more bytes of address space this process may map, or nullopt if there is no
// limit (`ulimit -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
