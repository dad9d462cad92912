#include "wire/timestamps.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

namespace assay::schema {
namespace {

using std::chrono::seconds;

using google::protobuf::util::TimeUtil;

// Lengths of 2026-01-31 and of 2026-01-31T08:00.
constexpr size_t kDate = 10;
constexpr size_t kMinute = 16;
constexpr int64_t kLastSecond = 7'258'118'400;  // 2200-01-01.

// Returns true for texts of the form 2026-01-31T08:00:00, with or without fractional seconds.
bool HasShapeOfTime(std::string_view text) {
  static constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() < kShape.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const char expected = i < kShape.size() ? kShape[i] : i == kShape.size() ? '.' : '0';
    if (expected == '0' ? !digit : text[i] != expected) return false;
  }
  return true;
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(WallTime time) {
  const auto since = time.time_since_epoch();
  const auto whole = std::chrono::floor<seconds>(since);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(whole.count());
  timestamp.set_nanos(static_cast<int32_t>((since - whole).count()));
  return timestamp;
}

WallTime FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  const int64_t whole = std::clamp<int64_t>(timestamp.seconds(), 0, kLastSecond);
  const int64_t nanos = std::clamp(timestamp.nanos(), 0, 999'999'999);
  return WallTime(seconds(whole) + std::chrono::nanoseconds(nanos));
}

Result<WallTime> ParseTime(std::string_view text) {
  std::string full(text);
  if (full.size() > kDate && full.ends_with('Z')) full.pop_back();
  if (full.size() == kDate) full += "T00:00";
  if (full.size() == kMinute) full += ":00";
  google::protobuf::Timestamp time;
  if (!HasShapeOfTime(full) || !TimeUtil::FromString(full + "Z", &time) || time.seconds() < 0 ||
      time.seconds() >= kLastSecond) {
    return InvalidArgument("not a time such as 2026-01-31T08:00:00Z");
  }
  return FromTimestamp(time);
}

double SecondsSince1970(WallTime time) {
  const auto since = time.time_since_epoch();
  const auto whole = std::chrono::floor<seconds>(since);
  return static_cast<double>(whole.count()) + std::chrono::duration<double>(since - whole).count();
}

std::string TimeText(const google::protobuf::Timestamp& timestamp) {
  const int64_t seconds = timestamp.seconds();
  const bool valid = seconds != 0 && seconds >= TimeUtil::kTimestampMinSeconds &&
                     seconds <= TimeUtil::kTimestampMaxSeconds && timestamp.nanos() >= 0 &&
                     timestamp.nanos() < 1'000'000'000;
  return valid ? TimeUtil::ToString(timestamp) : "";
}

}  // namespace assay::schema
