#include "coordinator/core/judging/peer_findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/outliers.h"
#include "analysis/statistics.h"
#include "analysis/steps.h"
#include "coordinator/core/judging/records.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using storage::Findings;
using storage::Run;
using storage::Runs;

// Age of a place's newest run at which the place is considered removed from the fleet. The age is
// measured relative to the newest run of all places.
constexpr Duration kLeftAfter = std::chrono::hours(24 * 30);
constexpr size_t kNewestRuns = 3;
// Minimum number of runs, because one run says too little about a place.
constexpr size_t kLeastRuns = 2;
// Clocks are read for at most this many outliers.
constexpr size_t kMostExplained = 20;
// Efficiencies at the observed clock that differ by less than this fraction count as equal.
constexpr double kSameEfficiency = 0.015;

// Returns the spread between healthy places that is assumed if it cannot be learned from results.
double PriorSpread(const v1::CaseIdentity& identity) {
  return identity.metric() == "bandwidth" && identity.hardware().gpu_count() == 1
             ? analysis::kMemorySpread
             : analysis::kComputeSpread;
}

// Places with the same driver.
struct Peers {
  std::vector<const History*> histories;
  std::vector<analysis::PeerRuns> newest;  // Parallel to `histories`.
};

// Returns the median since the last step; nullopt if there are too few runs since then.
std::optional<double> LevelOf(const History& history, const Runs& runs) {
  const std::vector<analysis::Step> steps = StepsOf(runs, history);
  std::vector<double> segment(
      history.values.begin() + static_cast<std::ptrdiff_t>(steps.empty() ? 0 : steps.back().first),
      history.values.end());
  if (segment.size() < analysis::kSegmentRuns) return std::nullopt;
  return analysis::MedianOf(std::move(segment));
}

std::map<std::string, Peers> PeersByDriver(const Runs& runs,
                                           const std::vector<History>& histories) {
  WallTime newest{};
  for (const History& history : histories) {
    if (!history.used.empty()) newest = std::max(newest, history.used.back()->end_time);
  }
  std::map<std::string, Peers> peers;
  for (const History& history : histories) {
    if (history.used.size() < kLeastRuns || history.used.back()->end_time < newest - kLeftAfter) {
      continue;
    }
    const std::string& driver = DriverOf(runs, *history.used.back());
    Peers& group = peers[driver];
    analysis::PeerRuns& place = group.newest.emplace_back();
    place.place = group.histories.size();
    group.histories.push_back(&history);
    const size_t begin = history.used.size() > kNewestRuns ? history.used.size() - kNewestRuns : 0;
    for (size_t i = begin; i < history.used.size(); ++i) {
      if (DriverOf(runs, *history.used[i]) == driver) place.newest.push_back(history.values[i]);
    }
    place.level = LevelOf(history, runs);
  }
  return peers;
}

// Returns the efficiency at the observed clock of a run; 0 if it is unknown.
double EfficiencyAtClock(const Environment& environment, const Run& run) {
  const Result<v1::StoredResult> stored = environment.results.Get(run.result_id);
  return stored.ok() ? stored->case_result().prediction().efficiency_clock() : 0;
}

// Adds the outliers of one group of peers.
void AddOutliers(const Environment& environment, const std::string& driver, const Peers& peers,
                 const analysis::PeerAnalysis& found, Findings& findings) {
  const Run& middle = *peers.histories[found.places[found.places.size() / 2].place]->used.back();
  for (const analysis::PeerPosition& position : found.places) {
    if (!position.slow && !position.implausible) continue;
    const History& history = *peers.histories[position.place];
    const Run& run = *history.used.back();
    v1::Outlier& outlier = findings.outliers.emplace_back();
    *outlier.mutable_place() = history.place;
    outlier.set_kind(position.slow ? v1::OUTLIER_KIND_SLOW : v1::OUTLIER_KIND_IMPLAUSIBLE);
    outlier.set_judged_count(1);
    outlier.set_simulated(history.identity.simulated());
    v1::OutlierCase& one = *outlier.add_cases();
    *one.mutable_case_() = history.identity;
    one.set_driver_version(driver);
    one.set_kind(outlier.kind());
    one.set_z(position.z);
    one.set_ratio(std::exp(position.change));
    one.set_rank(static_cast<int>(position.rank));
    one.set_place_count(static_cast<int>(found.places.size()));
    one.set_median(run.median);
    const bool lower = history.identity.direction() == v1::DIRECTION_LOWER_IS_BETTER;
    one.set_peers_median(std::exp(lower ? -found.median : found.median));
    *one.mutable_end_time() = schema::ToTimestamp(run.end_time);
    one.set_result_id(run.result_id);
    if (!position.slow || findings.outliers.size() > kMostExplained) continue;
    const double own = EfficiencyAtClock(environment, run);
    const double of_peer = EfficiencyAtClock(environment, middle);
    one.set_power_limited(own > 0 && of_peer > 0 && own / of_peer > 1 - kSameEfficiency);
  }
}

}  // namespace

Status AddPeerFindings(const Environment& environment, const Runs& runs,
                       const std::vector<History>& histories, Findings& findings) {
  if (histories.empty()) return Status::Ok();
  Findings::Judged& judged = findings.judged.emplace_back();
  judged.lineage_id = histories.front().identity.lineage_id();
  for (const auto& [driver, peers] : PeersByDriver(runs, histories)) {
    std::vector<double> values;
    for (const analysis::PeerRuns& place : peers.newest) values.push_back(place.newest.back());
    analysis::OutlierRule rule;
    rule.prior_spread =
        analysis::LearnSpread(values).value_or(PriorSpread(peers.histories.front()->identity));
    const analysis::PeerAnalysis found = analysis::FindOutliers(peers.newest, rule);
    for (const History* history : peers.histories) {
      (found.places.empty() ? judged.without_peers : judged.with_peers)
          .push_back(history->place_key);
    }
    if (!found.places.empty()) AddOutliers(environment, driver, peers, found, findings);
  }
  if (findings.outliers.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const PlaceIndices indices, PlaceIndices::Read(environment));
  for (v1::Outlier& outlier : findings.outliers) indices.Complete(*outlier.mutable_place());
  return Status::Ok();
}

}  // namespace assay::coordinator
