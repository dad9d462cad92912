// Numbers with units: sizes, durations and other quantities as users read and write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// Parses a size in bytes, such as "4096", "4KiB", "1 GiB" or "1MB". Accepts binary and decimal
// suffixes up to T, in upper or lower case. Fractions such as "1.5KiB" are allowed if they amount
// to a whole number of bytes.
Result<int64_t> ParseBytes(std::string_view text);

// Returns the shortest exact form: 1073741824 -> "1GiB", 1000000 -> "1MB", 1023 -> "1023B".
std::string FormatBytes(int64_t bytes);

// Returns a rounded size: "12.5 GiB".
std::string ApproximateBytes(int64_t bytes);

// Parses "90s", "20m", "1h30m", "250ms". Refuses a number without a unit.
Result<Duration> ParseDuration(std::string_view text);

// Returns at most two units: "1h30m", "2m05s", "3.2s", "12ms".
std::string FormatDuration(Duration duration);

// Parses a whole decimal number. Refuses any other character before or after it.
Result<int64_t> ParseInteger(std::string_view text);

// Returns `number` with at most `digits` significant digits: "6.1e-05", "0.25", "nan".
std::string NumberText(double number, int digits = 4);

}  // namespace assay
