#include "coordinator/core/judging/summaries.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/statistics.h"
#include "coordinator/core/judging/case_comparison.h"
#include "model/filter.h"
#include "wire/result_flags.h"

namespace assay::coordinator {
namespace {

using storage::Findings;
using storage::Run;
using storage::Runs;

// Minimum number of runs of a place for an estimate of the spread between them.
constexpr size_t kLeastRunsOfSpread = 3;
// Replaces all flags that this version does not know, because there may be any number of them.
constexpr char kOtherFlag[] = "other";

// A part of the runs of one lineage, such as those with one driver, by place.
using Part = std::vector<History>;

bool IsThrottled(const Run& run) {
  return std::find(run.flags.begin(), run.flags.end(), "throttled") != run.flags.end();
}

// Divides the used runs of each place by the key that `key_of` returns; nullopt leaves a run out.
template <typename Key, typename KeyOf>
std::map<Key, Part> Divide(const std::vector<History>& histories, const KeyOf& key_of) {
  std::map<Key, Part> parts;
  for (const History& history : histories) {
    std::map<Key, History> of_place;
    for (size_t i = 0; i < history.used.size(); ++i) {
      const std::optional<Key> key = key_of(*history.used[i]);
      if (!key) continue;
      History& part = of_place[*key];
      if (part.used.empty()) {
        part.identity = history.identity;
        part.place_key = history.place_key;
      }
      part.used.push_back(history.used[i]);
      part.values.push_back(history.values[i]);
    }
    for (auto& [key, part] : of_place) parts[key].push_back(std::move(part));
  }
  return parts;
}

std::vector<const History*> PointersTo(const Part& part) {
  std::vector<const History*> pointers;
  for (const History& history : part) pointers.push_back(&history);
  return pointers;
}

int CountRuns(const Part& part) {
  size_t count = 0;
  for (const History& history : part) count += history.used.size();
  return static_cast<int>(count);
}

WallTime OldestOf(const Part& part) {
  WallTime oldest = WallTime::max();
  for (const History& history : part) oldest = std::min(oldest, history.used.front()->end_time);
  return oldest;
}

WallTime NewestOf(const Part& part) {
  WallTime newest{};
  for (const History& history : part) newest = std::max(newest, history.used.back()->end_time);
  return newest;
}

// Returns the standard deviation between runs at the same place, based on the runs at all places.
// Estimates it from the median absolute deviation, which is insensitive to single disturbances.
// Returns nullopt if there are too few runs.
std::optional<double> SpreadOfRuns(const Part& part) {
  std::vector<double> distances;
  size_t places = 0;
  for (const History& history : part) {
    if (history.values.size() < kLeastRunsOfSpread) continue;
    ++places;
    const double middle = analysis::MedianOf(history.values);
    for (const double value : history.values) distances.push_back(std::abs(value - middle));
  }
  if (places == 0) return std::nullopt;
  const auto count = static_cast<double>(distances.size());
  return analysis::kMadToDeviation * analysis::MedianOf(std::move(distances)) *
         std::sqrt(count / (count - static_cast<double>(places)));
}

std::optional<double> MedianUncertainty(const Part& part) {
  std::vector<double> known;
  for (const History& history : part) {
    for (const Run* run : history.used) {
      if (run->uncertainty) known.push_back(*run->uncertainty);
    }
  }
  if (known.empty()) return std::nullopt;
  return analysis::MedianOf(std::move(known));
}

// Returns the median over places of the medians of their runs.
std::optional<double> MedianEfficiency(const Part& part) {
  std::vector<double> of_places;
  for (const History& history : part) {
    std::vector<double> known;
    for (const Run* run : history.used) {
      if (run->efficiency_spec) known.push_back(*run->efficiency_spec);
    }
    if (!known.empty()) of_places.push_back(analysis::MedianOf(std::move(known)));
  }
  if (of_places.empty()) return std::nullopt;
  return analysis::MedianOf(std::move(of_places));
}

using ThrottledDriver = std::pair<bool, std::string>;
using PartsByDriver = std::map<ThrottledDriver, Part>;

void AddDriverMedians(const PartsByDriver& parts, Findings& findings) {
  for (const auto& [key, part] : parts) {
    Findings::DriverMedian& added = findings.driver_medians.emplace_back();
    added.identity = part.front().identity;
    std::tie(added.throttled, added.driver) = key;
    added.median = MedianOverPlaces(PointersTo(part));
    added.noise = SpreadOfRuns(part);
    added.noise_floor = MedianUncertainty(part);
    added.efficiency_spec = MedianEfficiency(part);
    added.runs = CountRuns(part);
    added.places = static_cast<int>(part.size());
    added.oldest = OldestOf(part);
    added.newest = NewestOf(part);
  }
}

// Returns the drivers sorted by version or, if any of them is not a version, by the time of their
// first run.
std::vector<std::string> OrderedDrivers(const PartsByDriver& parts, bool throttled) {
  std::vector<std::pair<WallTime, std::string>> drivers;
  bool versions = true;
  for (const auto& [key, part] : parts) {
    if (key.first != throttled || key.second.empty()) continue;
    drivers.emplace_back(OldestOf(part), key.second);
    versions = versions && CompareNumbers(key.second, key.second).has_value();
  }
  std::sort(drivers.begin(), drivers.end(), [&](const auto& x, const auto& y) {
    return versions ? CompareValues(x.second, y.second) < 0 : x < y;
  });
  std::vector<std::string> names;
  for (auto& [time, driver] : drivers) names.push_back(std::move(driver));
  return names;
}

void AddDriverChanges(const PartsByDriver& parts, Findings& findings) {
  for (const bool throttled : {false, true}) {
    const std::vector<std::string> drivers = OrderedDrivers(parts, throttled);
    for (size_t i = 1; i < drivers.size(); ++i) {
      const Part& before = parts.at({throttled, drivers[i - 1]});
      const Part& after = parts.at({throttled, drivers[i]});
      const CaseSides sides{PointersTo(before), PointersTo(after)};
      const analysis::Comparison compared = CompareCase(sides, {});
      Findings::DriverChange& added = findings.driver_changes.emplace_back();
      added.comparison = ComparisonMessage(sides, compared);
      added.p_value = compared.p_value;
      added.driver_before = drivers[i - 1];
      added.driver = drivers[i];
      added.throttled = throttled;
      added.first = OldestOf(after);
    }
  }
}

void AddCosts(const Runs& runs, const std::vector<History>& histories, const Prices& prices,
              Findings& findings) {
  using Offer = std::tuple<std::string, double, bool>;  // Provider, price, throttled.
  const v1::CaseIdentity& identity = histories.front().identity;
  const auto offer_of = [&](const Run& run) -> std::optional<Offer> {
    const storage::RunOrigin& origin = runs.origins[run.origin];
    const std::optional<double> price = prices.PerHour(identity, origin);
    if (!price || !std::isfinite(*price)) return std::nullopt;
    return Offer{origin.provider, *price, IsThrottled(run)};
  };
  for (const auto& [offer, part] : Divide<Offer>(histories, offer_of)) {
    Findings::CaseCost& added = findings.case_costs.emplace_back();
    added.identity = identity;
    std::tie(added.provider, added.dollars_per_hour, added.throttled) = offer;
    added.median = MedianOverPlaces(PointersTo(part));
    added.runs = CountRuns(part);
    added.places = static_cast<int>(part.size());
    added.newest = NewestOf(part);
  }
}

std::string KnownFlag(const std::string& flag) {
  const bool known = std::find(schema::kResultFlags.begin(), schema::kResultFlags.end(), flag) !=
                     schema::kResultFlags.end();
  return known ? flag : kOtherFlag;
}

void AddFlags(const Runs& runs, const v1::CaseIdentity& identity, Findings& findings) {
  struct Flagged {
    int runs = 0;
    WallTime newest{};
  };
  std::map<std::string, int> runs_of_node;
  std::map<std::pair<std::string, std::string>, Flagged> flagged;  // By node and flag.
  for (const Run& run : runs.runs) {
    const storage::RunOrigin& origin = runs.origins[run.origin];
    std::set<std::string> flags;
    for (const std::string& flag : run.flags) flags.insert(KnownFlag(flag));
    for (const std::string& node :
         std::set<std::string>(origin.node_names.begin(), origin.node_names.end())) {
      ++runs_of_node[node];
      for (const std::string& flag : flags) {
        Flagged& count = flagged[{node, flag}];
        ++count.runs;
        count.newest = std::max(count.newest, run.end_time);
      }
    }
  }
  for (const auto& [key, count] : flagged) {
    const auto& [node, flag] = key;
    findings.node_flags.push_back(
        {identity, node, flag, count.runs, runs_of_node.at(node), count.newest});
  }
}

}  // namespace

bool HasPrices(const Runs& runs) {
  return std::any_of(runs.origins.begin(), runs.origins.end(),
                     [](const auto& origin) { return origin.price_per_hour.value_or(0) > 0; });
}

void AddSummaries(const Runs& runs, const std::vector<History>& histories, const Prices* prices,
                  Findings& findings) {
  if (histories.empty()) return;
  const PartsByDriver parts =
      Divide<ThrottledDriver>(histories, [&](const Run& run) -> std::optional<ThrottledDriver> {
        return ThrottledDriver{IsThrottled(run), DriverOf(runs, run)};
      });
  AddDriverMedians(parts, findings);
  AddDriverChanges(parts, findings);
  if (prices != nullptr) AddCosts(runs, histories, *prices, findings);
  AddFlags(runs, histories.front().identity, findings);
}

}  // namespace assay::coordinator
