// Times between protobuf, text and the standard library. All UTC.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "assay/v1/result.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::storage {

google::protobuf::Timestamp ToTimestamp(WallTime time);
// Times outside the years 1970 to 2200 become the nearer end.
WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp);

// "2026-01-31", "2026-01-31T08:00", "...:00:00", "...:00:00.123456", each of those
// with an hour with or without a final Z.
Result<WallTime> ParseTime(std::string_view text);

double SecondsSince1970(WallTime time);

// "ok", "failed", "unsupported"; empty if unspecified.
std::string OutcomeName(v1::CaseOutcome outcome);

}  // namespace assay::storage
