#include "campaign/cron.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "wire/timestamps.h"

namespace assay::campaign {
namespace {

WallTime At(const std::string& text) {
  const Result<WallTime> time = schema::ParseTime(text);
  EXPECT_TRUE(time.ok()) << time.status();
  return time.ok() ? *time : WallTime();
}

// Returns the next `count` times after `after` in UTC, as "MM-DDThh:mm".
std::vector<std::string> Times(const std::string& expression, const std::string& zone,
                               const std::string& after, int count) {
  const Result<Cron> cron = Cron::Parse(expression, zone);
  EXPECT_TRUE(cron.ok()) << cron.status();
  std::vector<std::string> times;
  WallTime time = At(after);
  for (int i = 0; cron.ok() && i < count; ++i) {
    time = cron->NextTime(time);
    times.push_back(schema::TimeText(schema::ToTimestamp(time)).substr(5, 11));
  }
  return times;
}

using Texts = std::vector<std::string>;

TEST(CronTest, FieldsHaveListsRangesStepsAndNames) {
  EXPECT_EQ(Times("0 2 * * *", "UTC", "2026-01-01", 2), (Texts{"01-01T02:00", "01-02T02:00"}));
  EXPECT_EQ(Times("0,30 2-3 * * *", "", "2026-01-01", 5),
            (Texts{"01-01T02:00", "01-01T02:30", "01-01T03:00", "01-01T03:30", "01-02T02:00"}));
  EXPECT_EQ(Times("*/25 * * * *", "", "2026-01-01T00:26", 3),
            (Texts{"01-01T00:50", "01-01T01:00", "01-01T01:25"}));
  EXPECT_EQ(Times("5-20/10\t1 * * *", "", "2026-01-01", 3),
            (Texts{"01-01T01:05", "01-01T01:15", "01-02T01:05"}));
  // 2026-01-01 is a Thursday.
  EXPECT_EQ(Times("0 0 * jan-feb Mon,WED", "", "2026-01-01", 2),
            (Texts{"01-05T00:00", "01-07T00:00"}));
  EXPECT_EQ(Times("0 0 * * 7", "", "2026-01-01", 1), Times("0 0 * * 0", "", "2026-01-01", 1));
  EXPECT_EQ(Times("0 0 * * fri-sun", "", "2026-01-02", 3),
            (Texts{"01-03T00:00", "01-04T00:00", "01-09T00:00"}));
  EXPECT_EQ(Times("0 0 * * sun-sun", "", "2026-01-01", 2), Times("0 0 * * 0", "", "2026-01-01", 2));
  EXPECT_EQ(Times("0 0 * * 0-1", "", "2026-01-01", 2), (Texts{"01-04T00:00", "01-05T00:00"}));
}

TEST(CronTest, NicknamesAreExpressions) {
  EXPECT_EQ(Times("@hourly", "", "2026-01-01T00:30", 1), Texts{"01-01T01:00"});
  EXPECT_EQ(Times("@daily", "", "2026-01-01", 1), Texts{"01-02T00:00"});
  EXPECT_EQ(Times("@weekly", "", "2026-01-01", 1), Texts{"01-04T00:00"});
  EXPECT_EQ(Times("@monthly", "", "2026-01-01", 1), Texts{"02-01T00:00"});
  EXPECT_EQ(Times("@yearly", "", "2026-01-01T00:01", 1), Texts{"01-01T00:00"});
}

TEST(CronTest, BothDayFieldsRestricted_EitherIsEnough) {
  EXPECT_EQ(Times("0 0 13 * 5", "", "2026-01-01", 4),
            (Texts{"01-02T00:00", "01-09T00:00", "01-13T00:00", "01-16T00:00"}));
  // A field that begins with * restricts without offering another day.
  EXPECT_EQ(Times("0 0 */2 * 5", "", "2026-01-01", 2), (Texts{"01-09T00:00", "01-23T00:00"}));
}

TEST(CronTest, TheTimeItselfIsNotTheNext) {
  EXPECT_EQ(Times("0 2 * * *", "", "2026-01-01T02:00", 1), Texts{"01-02T02:00"});
  EXPECT_EQ(Times("0 2 * * *", "", "2026-01-01T01:59:59.999999", 1), Texts{"01-01T02:00"});
  EXPECT_EQ(Times("* * * * *", "", "2026-01-01T02:00:00.5", 1), Texts{"01-01T02:01"});
}

TEST(CronTest, LeapDaysFire) {
  const Result<Cron> cron = Cron::Parse("0 0 29 2 *", "");
  ASSERT_TRUE(cron.ok()) << cron.status();
  EXPECT_EQ(cron->NextTime(At("2026-01-01")), At("2028-02-29"));
  EXPECT_EQ(cron->NextTime(At("2096-03-01")), At("2104-02-29"));
  // A Sunday, through */7.
  EXPECT_EQ(Cron::Parse("0 0 29 2 */7", "")->NextTime(At("2088-03-01")), At("2128-02-29"));
}

TEST(CronTest, GapFiresOnceAtItsEnd) {
  // 2026-03-29T01:00Z: 02:00 becomes 03:00.
  EXPECT_EQ(Times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", 3),
            (Texts{"03-28T01:30", "03-29T01:00", "03-30T00:30"}));
  EXPECT_EQ(Times("0,20,40 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00", 3),
            (Texts{"03-29T01:00", "03-29T01:20", "03-29T01:40"}));
  // Midnight does not exist in Cairo on 2026-04-24.
  EXPECT_EQ(Times("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", 2),
            (Texts{"04-23T22:00", "04-24T21:00"}));
}

TEST(CronTest, RepeatedTimeFiresOnce) {
  // 2026-10-25T01:00Z: 03:00 becomes 02:00.
  EXPECT_EQ(Times("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", 2),
            (Texts{"10-25T00:30", "10-26T01:30"}));
}

TEST(CronTest, EveryHourFiresInEachRealHour) {
  EXPECT_EQ(Times("30 * * * *", "Europe/Berlin", "2026-10-25T00:00", 3),
            (Texts{"10-25T00:30", "10-25T01:30", "10-25T02:30"}));
  EXPECT_EQ(Times("30 * * * *", "Europe/Berlin", "2026-03-29T00:00", 3),
            (Texts{"03-29T00:30", "03-29T01:30", "03-29T02:30"}));
}

TEST(CronTest, InvalidExpressions_AreRefused) {
  for (const char* expression : {"",
                                 "* * * *",
                                 "* * * * * *",
                                 "60 * * * *",
                                 "* 24 * * *",
                                 "* * 0 * *",
                                 "* * * 13 *",
                                 "* * * * 8",
                                 "a * * * *",
                                 "5/10 * * * *",
                                 "*/0 * * * *",
                                 "*/100 * * * *",
                                 "5-1 * * * *",
                                 "1- * * * *",
                                 ",1 * * * *",
                                 "-1 * * * *",
                                 "1,, * * * *",
                                 "* * L * *",
                                 "* * * * 5#3",
                                 "* * * * monday",
                                 "99999999999999999999 * * * *",
                                 "*/ * * * *",
                                 "@reboot",
                                 "@",
                                 "** * * * *",
                                 "1-2-3 * * * *",
                                 "*/1/1 * * * *",
                                 "\x01 * * * *"}) {
    const Result<Cron> cron = Cron::Parse(expression, "");
    EXPECT_EQ(cron.status().code(), Code::kInvalidArgument) << expression;
    EXPECT_EQ(cron.status().reason(), Reason::kInvalidSchedule) << expression;
  }
  EXPECT_FALSE(Cron::Parse(std::string(1000, '1') + " * * * *", "").ok());
}

TEST(CronTest, ExpressionsThatNeverFire_AreRefusedWithTheDay) {
  EXPECT_EQ(Cron::Parse("0 0 30 2 *", "").status().message(),
            "day 30 of February does not exist: 0 0 30 2 *");
  EXPECT_EQ(Cron::Parse("0 0 30,31 2 *", "").status().message(),
            "days 30 and 31 of February do not exist: 0 0 30,31 2 *");
  EXPECT_EQ(Cron::Parse("0 0 31 4,6 *", "").status().message(),
            "day 31 of April and June does not exist: 0 0 31 4,6 *");
  EXPECT_TRUE(Cron::Parse("0 0 31 3,4 *", "").ok());
  EXPECT_TRUE(Cron::Parse("0 0 30 2 1", "").ok()) << "a Monday in February is enough";
}

TEST(CronTest, UnknownTimeZones_AreRefusedWithASimilarOne) {
  const Status typo = Cron::Parse("@daily", "europe/berln").status();
  EXPECT_EQ(typo.reason(), Reason::kInvalidSchedule);
  EXPECT_EQ(typo.hint(), "did you mean \"Europe/Berlin\"?");
  for (const char* name : {"../../etc/passwd", "/etc/localtime", "localtime", "file:/etc/localtime",
                           "Europe", "Europe/../../../../etc/localtime", "Fixed/UTC+01:00:00"}) {
    EXPECT_EQ(Cron::Parse("@daily", name).status().code(), Code::kInvalidArgument) << name;
  }
  ::setenv("TZDIR", "/nonexistent", 1);
  const Status missing = Cron::Parse("@daily", "Asia/Tokyo").status();
  ::unsetenv("TZDIR");
  EXPECT_NE(missing.hint().find("tzdata"), std::string::npos) << missing;
}

TEST(CronTest, TextInZone_NamesDayAndZone) {
  EXPECT_EQ(TextInZone(At("2026-11-27T01:00"), "Europe/Berlin"), "Fri 2026-11-27 02:00 CET");
  EXPECT_EQ(TextInZone(At("2026-11-27T01:00"), ""), "Fri 2026-11-27 01:00 UTC");
  EXPECT_EQ(TextInZone(At("2026-11-27T01:00"), "Nowhere"), "Fri 2026-11-27 01:00 UTC");
}

// A second implementation, which looks at each minute and knows no time zone rules: it sees that a
// gap or a repetition happened from the local times of neighbouring minutes.
class ByMinute {
 public:
  ByMinute(const std::string& expression, const std::string& zone) {
    EXPECT_TRUE(absl::LoadTimeZone(zone, &zone_));
    std::string rest = expression + " ";
    constexpr int kHigh[] = {59, 23, 31, 12, 7};
    for (size_t i = 0; i < 5; ++i) {
      const std::string field = rest.substr(0, rest.find(' '));
      rest = rest.substr(rest.find(' ') + 1);
      star_[i] = field[0] == '*';
      for (int n = i == 2 || i == 3 ? 1 : 0; n <= kHigh[i]; ++n) {
        if (Has(field, n, i == 2 || i == 3 ? 1 : 0, kHigh[i])) numbers_[i].insert(n);
      }
    }
    if (numbers_[4].contains(7)) numbers_[4].insert(0);
    every_hour_ = numbers_[1].size() == 24;
  }

  std::vector<WallTime> Between(WallTime from, WallTime to) const {
    std::vector<WallTime> times;
    // Local times up to here have had their turn.
    absl::CivilMinute seen = Local(from - std::chrono::hours(48));
    for (WallTime t = from - std::chrono::hours(48); t <= to; t += std::chrono::minutes(1)) {
      const absl::CivilMinute local = Local(t);
      bool fires = every_hour_ && Matches(local);
      if (!every_hour_ && local > seen) {
        for (absl::CivilMinute one = seen + 1; one <= local; ++one) fires = fires || Matches(one);
      }
      if (local > seen) seen = local;
      if (fires && t > from) times.push_back(t);
    }
    return times;
  }

 private:
  absl::CivilMinute Local(WallTime time) const {
    return absl::CivilMinute(zone_.At(absl::FromUnixNanos(time.time_since_epoch().count())).cs);
  }

  // `field` has only lists of numbers, ranges and steps.
  static bool Has(const std::string& field, int number, int low, int high) {
    std::string rest = field + ",";
    while (!rest.empty()) {
      std::string item = rest.substr(0, rest.find(','));
      rest = rest.substr(rest.find(',') + 1);
      int step = 1, from = low, to = high;
      if (const size_t slash = item.find('/'); slash != std::string::npos) {
        step = std::stoi(item.substr(slash + 1));
        item = item.substr(0, slash);
      }
      if (item != "*") {
        from = to = std::stoi(item);
        if (item.find('-') != std::string::npos) to = std::stoi(item.substr(item.find('-') + 1));
      }
      for (int i = from; i <= to; i += step) {
        if (i == number) return true;
      }
    }
    return false;
  }

  bool Matches(absl::CivilMinute local) const {
    const int weekday = (static_cast<int>(absl::GetWeekday(absl::CivilDay(local))) + 1) % 7;
    const bool month_day = numbers_[2].contains(local.day());
    const bool week_day = numbers_[4].contains(weekday);
    const bool both_restricted = !star_[2] && !star_[4];
    return numbers_[0].contains(local.minute()) && numbers_[1].contains(local.hour()) &&
           numbers_[3].contains(local.month()) &&
           (both_restricted ? month_day || week_day : month_day && week_day);
  }

  absl::TimeZone zone_;
  std::set<int> numbers_[5];
  bool star_[5] = {};
  bool every_hour_ = false;
};

TEST(CronTest, RandomExpressions_FireAsASearchByMinuteFinds) {
  std::mt19937 random(20261126);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto field = [&](int low, int high, int stars) {
    if (pick(0, 9) < stars) return std::string("*");
    std::string text;
    for (int i = pick(1, 3); i > 0; --i) {
      const int from = pick(low, high);
      const int to = pick(from, high);
      const int form = pick(0, 3);
      text += form == 0   ? "*/" + std::to_string(pick(1, high))
              : form == 1 ? std::to_string(from) + "-" + std::to_string(to)
              : form == 2 ? std::to_string(from) + "-" + std::to_string(to) + "/" +
                                std::to_string(pick(1, 9))
                          : std::to_string(from);
      if (i > 1) text += ",";
    }
    return text;
  };
  // A day before clocks change somewhere, or any day.
  const std::vector<std::string> days = {"2026-03-28T11:00", "2026-10-24T11:00", "2026-03-07T20:00",
                                         "2026-10-31T20:00", "2026-04-04T02:00", "2026-10-03T02:00",
                                         "2027-12-31T00:00", "2028-02-28T00:00"};
  int fired = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string expression = field(0, 59, 2) + " " + field(0, 23, 3) + " " + field(1, 31, 6) +
                                   " " + field(1, 12, 8) + " " + field(0, 7, 6);
    const std::string zone = std::vector<std::string>{"Europe/Berlin", "America/New_York",
                                                      "Australia/Lord_Howe", "UTC"}[pick(0, 3)];
    const Result<Cron> cron = Cron::Parse(expression, zone);
    if (!cron.ok()) continue;  // Never fires.
    const WallTime from =
        At(days[static_cast<size_t>(pick(0, static_cast<int>(days.size()) - 1))]) +
        std::chrono::seconds(pick(0, 1) * pick(0, 3600) / 60 * 60);
    const WallTime to = from + std::chrono::hours(50);
    std::vector<WallTime> times;
    for (WallTime t = cron->NextTime(from); t <= to; t = cron->NextTime(t)) times.push_back(t);
    ASSERT_EQ(times, ByMinute(expression, zone).Between(from, to))
        << expression << " in " << zone << " from " << schema::TimeText(schema::ToTimestamp(from));
    fired += times.empty() ? 0 : 1;
  }
  EXPECT_GT(fired, 150) << "most expressions must have been compared";
}

}  // namespace
}  // namespace assay::campaign
