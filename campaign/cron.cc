#include "campaign/cron.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/text.h"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxExpressionBytes = 200;
constexpr size_t kMaxZoneBytes = 64;
// Number of years after which the search for the next time gives up. The rarest schedule is
// February 29 on a given weekday. It occurs every 28 years, but only after 40 years around 2100,
// which is not a leap year.
constexpr int kMostYears = 41;

using Numbers = std::bitset<60>;

struct FieldRule {
  const char* name;
  int low;
  int high;
  std::vector<std::string> words;  // Names of the numbers from `low`, in lower case.
};

const std::array<FieldRule, 5>& FieldRules() {
  static const std::array<FieldRule, 5> kRules = {
      {{"minute", 0, 59, {}},
       {"hour", 0, 23, {}},
       {"day of the month", 1, 31, {}},
       {"month",
        1,
        12,
        {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
       {"day of the week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}};
  return kRules;
}

constexpr std::array<const char*, 13> kMonths = {
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};
constexpr std::array<int, 13> kLongestMonth = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

constexpr std::array<std::pair<const char*, const char*>, 5> kNicknames = {
    {{"@hourly", "0 * * * *"},
     {"@daily", "0 0 * * *"},
     {"@weekly", "0 0 * * 0"},
     {"@monthly", "0 0 1 * *"},
     {"@yearly", "0 0 1 1 *"}}};

Status Invalid(std::string message) {
  return InvalidArgument(std::move(message), Reason::kInvalidSchedule);
}

Result<int> ParseNumber(const FieldRule& rule, std::string_view text) {
  const auto word = std::find(rule.words.begin(), rule.words.end(), Lower(text));
  if (word != rule.words.end()) return rule.low + static_cast<int>(word - rule.words.begin());
  const bool digits =
      !text.empty() && text.size() <= 4 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = digits ? std::stoi(std::string(text)) : -1;
  if (number >= rule.low && number <= rule.high) return number;
  return Invalid(fmt::format("{} {} must be a number from {} to {}{}", rule.name, Quote(text),
                             rule.low, rule.high,
                             rule.words.empty() ? "" : " or a name such as " + rule.words[1]));
}

// Parses one element of a list: "*", "3", "1-5", "*/2" or "1-5/2".
Status AddItem(const FieldRule& rule, std::string_view item, Numbers& numbers) {
  const std::vector<std::string_view> parts = Split(item, '/', 2);
  const std::vector<std::string_view> ends = Split(parts[0], '-', 2);
  int low = rule.low;
  int high = rule.high;
  if (parts[0] != "*") {
    ASSAY_ASSIGN_OR_RETURN(low, ParseNumber(rule, ends[0]));
    high = low;
    if (ends.size() == 2) {
      ASSAY_ASSIGN_OR_RETURN(high, ParseNumber(rule, ends[1]));
    }
    // A week may end with Sunday, as in "fri-sun", so Sunday (0) counts as 7 here.
    if (ends.size() == 2 && high == 0 && low > 0 && rule.high == 7) high = 7;
    if (low > high) {
      return Invalid(
          fmt::format("{} {} must begin with the smaller number", rule.name, Quote(parts[0])));
    }
  }
  int step = 1;
  if (parts.size() == 2) {
    if (parts[0] != "*" && ends.size() < 2) {
      return Invalid(fmt::format("{} {}: a step needs a range before it, such as {}-{}/{}",
                                 rule.name, Quote(item), low, rule.high, Sanitize(parts[1])));
    }
    const std::string_view text = parts[1];
    const bool digits =
        !text.empty() && text.size() <= 2 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    step = digits ? std::stoi(std::string(text)) : 0;
    if (step < 1) {
      return Invalid(
          fmt::format("{} {}: the step must be a number from 1 to 99", rule.name, Quote(item)));
    }
  }
  for (int number = low; number <= high; number += step) {
    numbers.set(static_cast<size_t>(rule.high == 7 ? number % 7 : number));
  }
  return Status::Ok();
}

std::string ZoneFolder() {
  const char* const folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

// Returns the name of the time zone that is most similar to `name`, without regard to case.
std::string SimilarZone(const std::string& name) {
  std::vector<std::string> names;
  std::vector<std::string> lower;
  std::error_code ignored;
  const fs::path folder = ZoneFolder();
  for (fs::recursive_directory_iterator it(folder, ignored), end; it != end;
       it.increment(ignored)) {
    const std::string one = it->path().lexically_relative(folder).string();
    // The subfolders "posix" and "right" contain the same zones again.
    if (one.empty() || one[0] < 'A' || one[0] > 'Z') {
      if (it->is_directory(ignored)) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(ignored)) continue;
    names.push_back(one);
    lower.push_back(Lower(one));
  }
  const std::string closest = ClosestName(Lower(name), lower);
  const auto found = std::find(lower.begin(), lower.end(), closest);
  return found == lower.end() ? "" : names[static_cast<size_t>(found - lower.begin())];
}

// Returns true if `name` cannot refer to a file outside of the time zone folder: it is not an
// absolute path and contains no "..".
bool IsZoneName(const std::string& name) {
  return name.size() <= kMaxZoneBytes && name[0] >= 'A' && name[0] <= 'Z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '+' || c == '/';
         });
}

Result<absl::TimeZone> LoadZone(const std::string& name) {
  if (name.empty() || name == "UTC") return absl::UTCTimeZone();
  std::error_code ignored;
  absl::TimeZone zone;
  // Check that the file exists before asking Abseil to load it. Abseil remembers every name, even
  // those of unknown zones, so users could fill the memory with invented names.
  if (IsZoneName(name) && fs::is_regular_file(ZoneFolder() + "/" + name, ignored) &&
      absl::LoadTimeZone(absl::string_view(name.data(), name.size()), &zone)) {
    return zone;
  }
  const Status error = Invalid("unknown time zone " + Quote(name));
  if (!fs::is_directory(ZoneFolder(), ignored)) {
    return error.WithHint("this machine has no " + ZoneFolder() +
                          "; install the package tzdata on the coordinator's machine, or use UTC");
  }
  const std::string similar = SimilarZone(name);
  return error.WithHint(similar.empty() ? "use a name such as Europe/Berlin"
                                        : "did you mean " + Quote(similar) + "?");
}

absl::Time ToAbsl(WallTime time) { return absl::FromUnixNanos(time.time_since_epoch().count()); }

WallTime FromAbsl(absl::Time time) { return WallTime(Duration(absl::ToUnixNanos(time))); }

}  // namespace

struct Cron::Fields {
  Numbers minutes, hours, days, months, weekdays;
  bool either_day = false;  // A day matches if one of `days` and `weekdays` has it.
  absl::TimeZone zone;

  bool MatchesDay(absl::CivilDay day) const {
    if (!months[static_cast<size_t>(day.month())]) return false;
    const bool in_month = days[static_cast<size_t>(day.day())];
    // Abseil's week begins with Monday.
    const bool in_week = weekdays[(static_cast<size_t>(absl::GetWeekday(day)) + 1) % 7];
    return either_day ? in_month || in_week : in_month && in_week;
  }

  // Returns the first moment at which a clock in `zone` shows the time `local`. If that time is
  // skipped because clocks are set forward, returns the end of the gap.
  absl::Time MomentOf(absl::CivilSecond local) const {
    const absl::TimeZone::TimeInfo info = zone.At(local);
    return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
  }

  // Returns the reason why no day ever matches, or an empty string if some day does.
  std::string WhyNever() const {
    if (either_day) return "";
    std::vector<std::string> numbers;
    std::vector<std::string> names;
    for (size_t month = 1; month <= 12; ++month) {
      if (!months[month]) continue;
      names.emplace_back(kMonths[month]);
      for (int day = 1; day <= kLongestMonth[month]; ++day) {
        if (days[static_cast<size_t>(day)]) return "";
      }
    }
    for (size_t day = 1; day <= 31; ++day) {
      if (days[day]) numbers.push_back(std::to_string(day));
    }
    const auto count = static_cast<int64_t>(numbers.size());
    return fmt::format("{} {} of {} {} not exist", Plural(count, "day"), Join(numbers, " and "),
                       Join(names, " and "), Plural(count, "does", "do"));
  }

  // Finds the next time for an expression that fires in every hour, by trying each minute in turn.
  absl::Time NextMinute(absl::Time after) const {
    absl::Time time = after - absl::Nanoseconds(absl::ToInt64Nanoseconds(
                                  after - absl::FromUnixSeconds(absl::ToUnixSeconds(after))));
    time += absl::Seconds(60 - zone.At(time).cs.second());
    const int last_year = absl::ToCivilYear(time, zone).year() + kMostYears;
    while (true) {
      const absl::CivilSecond local = zone.At(time).cs;
      absl::CivilDay day(local);
      if (local.year() > last_year) return absl::FromUnixNanos(INT64_MAX);
      if (MatchesDay(day)) {
        if (minutes[static_cast<size_t>(local.minute())]) return time;
        time += absl::Minutes(1);
        continue;
      }
      do ++day;
      while (!MatchesDay(day) && day.year() <= last_year);
      time = std::max(time + absl::Minutes(1), MomentOf(absl::CivilSecond(day)));
    }
  }

  // Finds the next time for an expression that fires only in certain hours. Tries all matching
  // local times in order and returns the first one after `after`. This is correct because a later
  // local time never means an earlier moment.
  absl::Time NextLocalTime(absl::Time after) const {
    const absl::CivilMinute begin(zone.At(after).cs);
    const int last_year = static_cast<int>(begin.year()) + kMostYears;
    for (absl::CivilDay day(begin); day.year() <= last_year; ++day) {
      if (!MatchesDay(day)) continue;
      for (int hour = 0; hour < 24; ++hour) {
        if (!hours[static_cast<size_t>(hour)]) continue;
        for (int minute = 0; minute < 60; ++minute) {
          if (!minutes[static_cast<size_t>(minute)]) continue;
          const absl::CivilMinute local(day.year(), day.month(), day.day(), hour, minute);
          if (local < begin) continue;
          const absl::Time moment = MomentOf(absl::CivilSecond(local));
          if (moment > after) return moment;
        }
      }
    }
    return absl::FromUnixNanos(INT64_MAX);
  }
};

Result<Cron> Cron::Parse(std::string_view expression, const std::string& time_zone) {
  if (expression.size() > kMaxExpressionBytes) {
    return Invalid(
        fmt::format("{} is longer than {} bytes", Quote(expression), kMaxExpressionBytes));
  }
  std::string spaced(expression);
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  std::string_view text = spaced;
  if (text.substr(0, 1) == "@") {
    std::vector<std::string> names;
    for (const auto& [name, fields] : kNicknames) names.emplace_back(name);
    const auto nickname = std::find(names.begin(), names.end(), Lower(text));
    if (nickname == names.end()) {
      return Invalid("unknown expression " + Quote(text) + "; " + Suggest(text, names));
    }
    text = kNicknames[static_cast<size_t>(nickname - names.begin())].second;
  }
  std::vector<std::string_view> parts;
  for (const std::string_view part : Split(text, ' ')) {
    if (!part.empty()) parts.push_back(part);
  }
  if (parts.size() != 5) {
    return Invalid(
        fmt::format("{} has {}; it must have 5: minute, hour, day of the month, month "
                    "and day of the week, such as \"0 2 * * 1-5\"",
                    Quote(expression), Counted(static_cast<int64_t>(parts.size()), "field")));
  }
  auto fields = std::make_shared<Fields>();
  const std::array<Numbers*, 5> numbers = {&fields->minutes, &fields->hours, &fields->days,
                                           &fields->months, &fields->weekdays};
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const std::string_view item : Split(parts[i], ',')) {
      ASSAY_RETURN_IF_ERROR(AddItem(FieldRules()[i], item, *numbers[i]));
    }
  }
  fields->either_day = parts[2][0] != '*' && parts[4][0] != '*';
  if (const std::string why = fields->WhyNever(); !why.empty()) {
    return Invalid(why + ": " + std::string(expression));
  }
  ASSAY_ASSIGN_OR_RETURN(fields->zone, LoadZone(time_zone));
  return Cron(std::move(fields));
}

WallTime Cron::NextTime(WallTime after) const {
  const bool every_hour = fields_->hours.count() == 24;
  return FromAbsl(every_hour ? fields_->NextMinute(ToAbsl(after))
                             : fields_->NextLocalTime(ToAbsl(after)));
}

std::string TextInZone(WallTime time, const std::string& time_zone) {
  const Result<absl::TimeZone> zone = LoadZone(time_zone);
  return absl::FormatTime("%a %Y-%m-%d %H:%M %Z", ToAbsl(time),
                          zone.ok() ? *zone : absl::UTCTimeZone());
}

}  // namespace assay::campaign
