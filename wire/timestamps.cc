#include "wire/timestamps.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cctype>

namespace assay::schema {
namespace {

using std::chrono::seconds;

constexpr int64_t kLastSecond = 7'258'118'400;  // 2200-01-01.

// Reads exactly `count` digits and moves past them; -1 if they are not there.
int TakeDigits(std::string_view& text, size_t count) {
  if (text.size() < count) return -1;
  int number = 0;
  for (char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// The digits after a decimal point, in nanoseconds; -1 if there are none.
int64_t TakeFraction(std::string_view& text) {
  int64_t fraction = 0;
  int64_t unit = 100'000'000;
  bool any = false;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    fraction += unit * (text[0] - '0');
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? fraction : -1;
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
  const Status error = InvalidArgument("not a time such as 2026-01-31T08:00:00Z");
  const int year = TakeDigits(text, 4);
  const bool month_follows = Take(text, '-');
  const int month = TakeDigits(text, 2);
  const bool day_follows = Take(text, '-');
  const int day = TakeDigits(text, 2);
  if (year < 1970 || year >= 2200 || !month_follows || month < 1 || !day_follows || day < 1) {
    return error;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return error;
  const WallTime midnight(std::chrono::sys_days(date).time_since_epoch());
  if (text.empty()) return midnight;
  if (!Take(text, 'T')) return error;
  const int hour = TakeDigits(text, 2);
  const bool minute_follows = Take(text, ':');
  const int minute = TakeDigits(text, 2);
  const int second = Take(text, ':') ? TakeDigits(text, 2) : 0;
  const int64_t fraction = Take(text, '.') ? TakeFraction(text) : 0;
  Take(text, 'Z');
  if (hour < 0 || hour > 23 || !minute_follows || minute < 0 || minute > 59 || second < 0 ||
      second > 59 || fraction < 0 || !text.empty()) {
    return error;
  }
  return midnight + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second) +
         std::chrono::nanoseconds(fraction);
}

double SecondsSince1970(WallTime time) {
  const auto since = time.time_since_epoch();
  const auto whole = std::chrono::floor<seconds>(since);
  return static_cast<double>(whole.count()) + std::chrono::duration<double>(since - whole).count();
}

std::string TimeText(const google::protobuf::Timestamp& timestamp) {
  using google::protobuf::util::TimeUtil;
  const int64_t seconds = timestamp.seconds();
  const bool valid = seconds != 0 && seconds >= TimeUtil::kTimestampMinSeconds &&
                     seconds <= TimeUtil::kTimestampMaxSeconds && timestamp.nanos() >= 0 &&
                     timestamp.nanos() < 1'000'000'000;
  return valid ? TimeUtil::ToString(timestamp) : "";
}

}  // namespace assay::schema
