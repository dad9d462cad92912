// Simulates three months of a fleet whose hardware is healthy except for planted regressions, and
// counts false alarms and reruns. Prints the table in docs/measured/verdict-rates.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/outliers.h"
#include "analysis/statistics.h"
#include "analysis/steps.h"
#include "tests/unit/analysis/noise.h"

namespace assay::analysis {
namespace {

// A suspected change whose reruns are not complete.
struct RerunCandidate {
  double change = 0;      // See Step and Deviation.
  size_t runs = kReruns;  // Number of reruns that it needs next.
  bool started = false;   // It was rerun before.
};

struct RerunBudget {
  // Reruns may add this fraction to the ordinary runs. 0 turns reruns off.
  double share = 0.02;
  // Runs of the whole fleet in a recent period, for example the last week.
  size_t ordinary_runs = 0;
  size_t reruns = 0;
};

// Returns the indices of the candidates that should be rerun now, the most urgent first. Candidates
// that were started come before others, and larger changes before smaller ones. A candidate that
// exceeds the budget waits; smaller ones that fit do not overtake it.
std::vector<size_t> ChooseReruns(const std::vector<RerunCandidate>& candidates,
                                 const RerunBudget& budget) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const auto urgency = [&](size_t i) {
      return std::pair(candidates[i].started, std::abs(candidates[i].change));
    };
    return urgency(x) > urgency(y);
  });
  const double allowed = budget.share * static_cast<double>(budget.ordinary_runs);
  size_t reruns = budget.reruns;
  size_t chosen = 0;
  for (; chosen < order.size(); ++chosen) {
    reruns += candidates[order[chosen]].runs;
    if (static_cast<double>(reruns) > allowed) break;
  }
  order.resize(chosen);
  return order;
}

constexpr size_t kGpus = 512;
constexpr size_t kCases = 40;
constexpr size_t kNights = 90;
// The budget covers so many nights.
constexpr size_t kBudgetNights = 7;
// Reruns of one candidate are spaced, so that a night has time for so many rounds.
constexpr size_t kRoundsPerNight = 12;
constexpr size_t kFirstLook = 20;
// The level of a place is the median of at most so many runs.
constexpr size_t kLevelRuns = 20;
constexpr size_t kPlanted = 40;
constexpr size_t kPlantedAt = 45;
constexpr double kPlantedChange = -0.05;

struct CaseModel {
  NoiseKind noise;
  double place_spread;
};

// Half of the cases depend on memory, whose performance differs little between GPUs.
CaseModel ModelOf(size_t number) {
  const double spread = number % 2 == 0 ? 0.005 : 0.015;
  if (number < 16) return {NoiseKind::kIid, spread};
  if (number < 24) return {NoiseKind::kSpikes, spread};
  if (number < 32) return {NoiseKind::kBimodal, spread};
  return {NoiseKind::kAr5, spread};
}

// The runs of one case on one GPU.
struct Series {
  Noise noise;
  double level = 0;
  bool planted = false;
  std::vector<double> values;
  // The first run of the newest change that was confirmed or cleared.
  std::optional<size_t> judged;
  bool confirmed = false;
  bool waiting = false;  // For reruns.

  double Run() {
    const bool slow = planted && values.size() >= kPlantedAt;
    return noise.Next() + level + (slow ? kPlantedChange : 0);
  }
};

struct Candidate {
  size_t series = 0;
  size_t first = 0;
  double change = 0;
  RerunEvidence place;
  size_t peer = 0;
  RerunEvidence peer_evidence;
  bool at_peer = false;  // The next reruns are the peer's.
};

struct Counts {
  std::map<NoiseKind, size_t> opened;
  std::map<NoiseKind, size_t> false_confirmed;
  size_t planted_confirmed = 0;
  size_t planted_as_fleet = 0;
  size_t planted_nights = 0;  // Sum of the nights until confirmation.
  size_t reruns = 0;
  std::set<size_t> named;  // Healthy places that were named slow.
};

class Fleet {
 public:
  explicit Fleet(uint64_t seed) {
    NoiseRandom random(seed);
    for (size_t i = 0; i < kGpus * kCases; ++i) {
      const CaseModel model = ModelOf(i / kGpus);
      series_.push_back({Noise(model.noise, seed * 1000003 + i),
                         model.place_spread * random.Normal(),
                         false,
                         {},
                         {},
                         false,
                         false});
    }
    // One series on each of some GPUs, of all kinds of cases.
    for (size_t i = 0; i < kPlanted; ++i) series_[i * kGpus + 12 * i].planted = true;
  }

  Counts Simulate() {
    for (size_t night = 0; night < kNights; ++night) {
      reruns_.push_back(0);
      for (Series& one : series_) one.values.push_back(one.Run());
      if (night + 1 >= kFirstLook) {
        for (size_t i = 0; i < series_.size(); ++i) Look(i);
      }
      for (size_t round = 0; round < kRoundsPerNight; ++round) RerunOnce();
      if (night >= 2) FindOutlierPlaces();
    }
    return counts_;
  }

 private:
  static NoiseKind KindOf(size_t series) { return ModelOf(series / kGpus).noise; }

  // Returns the values since the step before `end`, within the window.
  std::vector<double> SegmentBefore(const Series& one, const std::vector<Step>& steps,
                                    size_t end) const {
    size_t from = one.values.size() - std::min(one.values.size(), kStepWindow);
    for (const Step& step : steps) {
      if (step.first < end) from = step.first;
    }
    return {one.values.begin() + static_cast<std::ptrdiff_t>(from),
            one.values.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // Opens a candidate if the newest run shows a step or is suspect.
  void Look(size_t i) {
    Series& one = series_[i];
    if (one.waiting) return;
    const std::vector<Step> steps = FindSteps(one.values, {}, i);
    if (!steps.empty() && steps.back().change() < 0) {
      const size_t first = steps.back().first;
      const bool known = one.judged && first <= *one.judged + kSegmentRuns;
      if (!known) Open(i, first, steps.back().change(), SegmentBefore(one, steps, first));
      if (!known) return;
    }
    // Until its step is found, each run of a confirmed regression is suspect.
    const size_t last = steps.empty() ? 0 : steps.back().first;
    if (one.confirmed && last + kSegmentRuns < *one.judged) return;
    std::vector<double> segment = SegmentBefore(one, steps, one.values.size());
    const auto newest = JudgeNewest(segment, 0.003);
    if (!newest || !newest->suspect) return;
    segment.pop_back();
    Open(i, one.values.size() - 1, newest->change, std::move(segment));
  }

  void Open(size_t i, size_t first, double change, std::vector<double> segment) {
    series_[i].waiting = true;
    ++counts_.opened[KindOf(i)];
    const size_t peer = i / kGpus * kGpus + (i + 1) % kGpus;
    Candidate candidate{i, first, change, {std::move(segment), {}}, peer, {}, false};
    candidate.peer_evidence.segment =
        SegmentBefore(series_[peer], FindSteps(series_[peer].values, {}, peer), first);
    candidates_.push_back(std::move(candidate));
  }

  static RerunEvidence& NextEvidence(Candidate& one) {
    return one.at_peer ? one.peer_evidence : one.place;
  }

  // Reruns the most urgent candidates once or, at their beginning, three times.
  void RerunOnce() {
    std::vector<RerunCandidate> queue;
    for (Candidate& one : candidates_) {
      const size_t done = NextEvidence(one).reruns.size();
      queue.push_back({one.change, done < kReruns ? kReruns - done : 1,
                       one.at_peer || !one.place.reruns.empty()});
    }
    RerunBudget budget;
    const size_t nights = std::min(reruns_.size(), kBudgetNights);
    budget.ordinary_runs = nights * series_.size();
    for (size_t i = 0; i < nights; ++i) budget.reruns += reruns_[reruns_.size() - 1 - i];
    std::set<size_t> decided;
    for (const size_t chosen : ChooseReruns(queue, budget)) {
      Candidate& one = candidates_[chosen];
      for (size_t run = 0; run < queue[chosen].runs; ++run) {
        NextEvidence(one).reruns.push_back(series_[one.at_peer ? one.peer : one.series].Run());
      }
      reruns_.back() += queue[chosen].runs;
      counts_.reruns += queue[chosen].runs;
      if (Decide(one)) decided.insert(chosen);
    }
    std::vector<Candidate> rest;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (decided.count(i) == 0) rest.push_back(std::move(candidates_[i]));
    }
    candidates_ = std::move(rest);
  }

  // Returns whether the candidate was confirmed or cleared.
  bool Decide(Candidate& one) {
    const Confirmation next = Confirm(one.change, one.place, &one.peer_evidence);
    one.at_peer = next == Confirmation::kRerunPeer;
    if (one.at_peer || next == Confirmation::kRerunPlace) return false;
    Series& series = series_[one.series];
    series.waiting = false;
    series.judged = one.first;
    if (next == Confirmation::kCleared) return true;
    series.confirmed = true;
    if (!series.planted || one.first + kSegmentRuns < kPlantedAt) {
      ++counts_.false_confirmed[KindOf(one.series)];
    } else {
      ++counts_.planted_confirmed;
      counts_.planted_as_fleet += next == Confirmation::kFleet ? 1 : 0;
      counts_.planted_nights += series.values.size() - kPlantedAt;
    }
    return true;
  }

  // Names slow places.
  void FindOutlierPlaces() {
    for (size_t number = 0; number < kCases; ++number) {
      std::vector<PeerRuns> peers;
      std::vector<double> newest;
      for (size_t gpu = 0; gpu < kGpus; ++gpu) {
        const std::vector<double>& values = series_[number * kGpus + gpu].values;
        const auto since = static_cast<std::ptrdiff_t>(std::min(values.size(), kLevelRuns));
        PeerRuns& peer =
            peers.emplace_back(PeerRuns{number * kGpus + gpu, {values.end() - 3, values.end()}});
        if (values.size() >= kSegmentRuns)
          peer.level = MedianOf({values.end() - since, values.end()});
        newest.push_back(values.back());
      }
      const OutlierRule rule{.prior_spread = *LearnSpread(newest)};
      for (const size_t place : SlowPlaces(peers, rule)) counts_.named.insert(place);
    }
  }

  // Returns the slow places that are healthy and not yet named.
  std::vector<size_t> SlowPlaces(const std::vector<PeerRuns>& peers,
                                 const OutlierRule& rule) const {
    std::vector<size_t> places;
    for (const PeerPosition& position : FindOutliers(peers, rule).places) {
      const size_t place = position.place;
      const bool healthy = !series_[place].planted && counts_.named.count(place) == 0;
      if (position.slow && healthy) places.push_back(place);
    }
    return places;
  }

  std::vector<Series> series_;
  std::vector<Candidate> candidates_;
  std::vector<size_t> reruns_;  // By night.
  Counts counts_;
};

TEST(FleetRates, ThreeMonthsOf512Gpus) {
  const Counts counts = Fleet(1).Simulate();
  std::printf("| noise | suspicions | false confirmed regressions |\n|---|---:|---:|\n");
  size_t false_confirmed = 0;
  for (const auto& [kind, opened] : counts.opened) {
    const auto found = counts.false_confirmed.find(kind);
    const size_t wrong = found == counts.false_confirmed.end() ? 0 : found->second;
    std::printf("| %s | %zu | %zu |\n", NameOf(kind), opened, wrong);
    false_confirmed += wrong;
  }
  const double extra = 100.0 * static_cast<double>(counts.reruns) / (kGpus * kCases * kNights);
  std::printf(
      "\n| healthy places named slow | extra runs | -5%% confirmed | as fleet | nights until then "
      "|\n");
  std::printf("|---:|---:|---:|---:|---:|\n| %zu | %.2f%% | %zu of %zu | %zu | %.1f |\n",
              counts.named.size(), extra, counts.planted_confirmed, kPlanted,
              counts.planted_as_fleet,
              static_cast<double>(counts.planted_nights) /
                  static_cast<double>(std::max<size_t>(counts.planted_confirmed, 1)));
  EXPECT_LE(false_confirmed, 1U);
  EXPECT_LE(counts.named.size(), 3U);
  EXPECT_LE(extra, 2.0);
  EXPECT_GE(counts.planted_confirmed, kPlanted * 8 / 10);
}

}  // namespace
}  // namespace assay::analysis
