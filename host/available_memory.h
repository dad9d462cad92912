// How much memory the host has, and has left, for this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Bytes of the host's memory that this process may take now: what Linux reports as
// available, or less where a control group around it is allowed less. Absent if neither is
// told. `root` stands for "/" (of /proc and /sys), here and below.
std::optional<int64_t> AvailableHostBytes(const std::string& root = "");

// Bytes of the host's memory that this process may ever have: all, or the least limit of a
// control group around it. Absent if neither is told.
std::optional<int64_t> UsableHostBytes(const std::string& root = "");

// Bytes that this process may still map, used or not. Absent unless they are limited (`ulimit -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
