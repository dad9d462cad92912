// How much memory the host has left.
#pragma once

#include <cstdint>
#include <optional>

namespace assay {

// Bytes of the host's memory that this process may take now: what Linux reports as
// available, or less where its control group is allowed less. Absent if neither is told.
std::optional<int64_t> AvailableHostBytes();

// Bytes that this process may still map, used or not. Absent unless they are limited (`ulimit -v`).
std::optional<int64_t> AddressSpaceLeft();

}  // namespace assay
