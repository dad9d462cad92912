// Numbers with units, as users write and read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// "4096", "4KiB", "1 GiB", "1MB": binary and decimal suffixes up to T, any case.
// Fractions are allowed where the product is whole ("1.5KiB").
Result<int64_t> ParseBytes(std::string_view text);

// The shortest exact form: 1073741824 -> "1GiB", 1000000 -> "1MB", 1023 -> "1023B".
std::string FormatBytes(int64_t bytes);

// "90s", "20m", "1h30m", "250ms". A bare number is refused: no unit to guess.
Result<Duration> ParseDuration(std::string_view text);

// Two significant units at most: "1h30m", "2m05s", "3.2s", "12ms".
std::string FormatDuration(Duration duration);

// A whole decimal number with nothing around it.
Result<int64_t> ParseInteger(std::string_view text);

// HOST:PORT split at the last colon; "[::1]:7900" is understood.
struct HostPort {
  std::string host;
  int port = 0;
  // True for 127.0.0.0/8, ::1 and "localhost".
  bool IsLoopback() const;
  std::string ToString() const;
};
// Port 0 is allowed (it means any free port where one listens).
Result<HostPort> ParseHostPort(std::string_view text);

}  // namespace assay
