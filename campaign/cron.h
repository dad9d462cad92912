// Parses cron expressions and computes when they fire in a time zone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay::campaign {

// A cron expression with its time zone: five fields as in crontab(5), or @hourly, @daily, @weekly,
// @monthly or @yearly. If neither day field begins with "*", a day needs to match only one of them.
//
// An expression for certain hours fires at the end of the gap if its time is skipped when clocks
// are set forward, and only the first time if its time occurs twice when they are set back. An
// expression for every hour fires whenever the clock shows one of its minutes. Immutable, so
// threads can share it.
class Cron {
 public:
  // Parses a cron expression. `time_zone` is a name such as "Europe/Berlin", or empty for UTC.
  // Returns INVALID_ARGUMENT with reason INVALID_SCHEDULE if the expression or the time zone is
  // invalid, or if the expression never fires.
  static Result<Cron> Parse(std::string_view expression, const std::string& time_zone);

  // Returns the first time after `after` at which the expression fires.
  WallTime NextTime(WallTime after) const;

 private:
  struct Fields;
  explicit Cron(std::shared_ptr<const Fields> fields) : fields_(std::move(fields)) {}

  std::shared_ptr<const Fields> fields_;
};

// Formats a time as a clock in `time_zone` would show it, such as "Fri 2026-11-27 02:00 CET". Uses
// UTC if the time zone is unknown on this machine.
std::string TextInZone(WallTime time, const std::string& time_zone);

}  // namespace assay::campaign
