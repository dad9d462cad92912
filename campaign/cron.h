// Parses cron expressions and computes when they fire in a time zone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay::campaign {

// A cron expression with its time zone. The expression has five fields (minute, hour, day of the
// month, month, day of the week) as in crontab(5), or is @hourly, @daily, @weekly, @monthly or
// @yearly. If both day fields are restricted, that is, if neither begins with "*", a day needs to
// match only one of them.
//
// An expression for certain hours fires at local times. If clocks are set forward over such a time,
// the expression fires at the first moment after the gap. If clocks are set back and the time
// occurs twice, the expression fires only the first time. An expression for every hour fires
// whenever the clock shows one of its minutes, so it fires in both hours if clocks are set back.
//
// Immutable, so threads can share it.
class Cron {
 public:
  // `time_zone` is a name such as "Europe/Berlin"; empty means UTC. Returns INVALID_ARGUMENT with
  // the reason INVALID_SCHEDULE if the expression or the time zone is invalid, or if the expression
  // never fires.
  static Result<Cron> Parse(std::string_view expression, const std::string& time_zone);

  // Returns the first time after `after` at which the expression fires.
  WallTime NextTime(WallTime after) const;

 private:
  struct Fields;
  explicit Cron(std::shared_ptr<const Fields> fields) : fields_(std::move(fields)) {}

  std::shared_ptr<const Fields> fields_;
};

// Returns a time as a clock in `time_zone` shows it, such as "Fri 2026-11-27 02:00 CET". Uses UTC
// if the time zone is unknown on this machine.
std::string TextInZone(WallTime time, const std::string& time_zone);

}  // namespace assay::campaign
