// Converts times between protobuf, text and the standard library. All are UTC.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay::schema {

google::protobuf::Timestamp ToTimestamp(WallTime time);
// Clamps to the years 1970 to 2200.
WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp);

// Reads "2026-01-31", "2026-01-31T08:00", "2026-01-31T08:00:00" and "2026-01-31T08:00:00.123456".
// A final Z is optional after an hour. INVALID_ARGUMENT for anything else.
Result<WallTime> ParseTime(std::string_view text);

double SecondsSince1970(WallTime time);

// "2026-01-31T08:00:00Z", with a fraction if there is one. Empty for a time that is 0 or that
// RFC 3339 cannot express.
std::string TimeText(const google::protobuf::Timestamp& timestamp);

}  // namespace assay::schema
