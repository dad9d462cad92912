// Converts times between protobuf, text and the standard library. All are UTC.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

google::protobuf::Timestamp ToTimestamp(WallTime time);
// Converts a timestamp. Limits the result to the years 1970 to 2200.
WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp);

// Parses a time in UTC in one of these forms:
//   2026-01-31
//   2026-01-31T08:00
//   2026-01-31T08:00:00
//   2026-01-31T08:00:00.123456
// A time of day may be followed by Z. Returns INVALID_ARGUMENT if the text has any other form.
Result<WallTime> ParseTime(std::string_view text);

double SecondsSince1970(WallTime time);

// Formats a time as RFC 3339 text in UTC, such as "2026-01-31T08:00:00Z". Includes fractional
// seconds unless they are 0. Returns an empty string if the time is 0 or outside the range of RFC
// 3339.
std::string TimeText(const google::protobuf::Timestamp& timestamp);

}  // namespace assay::schema
