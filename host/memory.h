// The host's memory that this process may use. All functions return bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns the memory that this process can still allocate: what Linux reports as available, or what
// the control groups leave if that is less. Absent if both are unknown. `root` replaces "/" in the
// paths of /proc and /sys.
std::optional<int64_t> AvailableHostBytes(const std::string& root = "");

// Returns the machine's total memory or, if it is less, the tightest memory limit of the control
// groups. Absent if both are unknown.
std::optional<int64_t> UsableHostBytes(const std::string& root = "");

// Returns how much more address space this process may map. Absent if there is no limit (`ulimit
// -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
