// The host's memory that this process may use. All functions return bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns how many more bytes this process can allocate: the memory that Linux reports as
// available, or what a control group's limit leaves, if that is less. Returns nullopt if neither is
// known. `root`, which only tests set, is prepended to the paths of /proc and /sys.
std::optional<int64_t> AvailableHostBytes(const std::string& root = "");

// Returns the machine's total memory in bytes, or the tightest control group limit if that is
// lower. Returns nullopt if neither is known.
std::optional<int64_t> UsableHostBytes(const std::string& root = "");

// Returns how many more bytes of address space this process may map, or nullopt if there is no
// limit (`ulimit -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
