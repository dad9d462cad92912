// The host's memory that this process may use. All functions return bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns the memory that is available now, according to Linux and to the control groups of this
// process. Absent if both are unknown. `root` replaces "/" in the paths of /proc and /sys.
std::optional<int64_t> AvailableHostBytes(const std::string& root = "");

// Returns the total memory, or the tightest limit of the control groups if that is less. Absent if
// both are unknown.
std::optional<int64_t> UsableHostBytes(const std::string& root = "");

// Returns how much address space this process may still map. Absent without a limit
// (`ulimit -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
