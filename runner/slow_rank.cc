#include "runner/slow_rank.h"

#include <algorithm>
#include <string>

#include "measure/statistics.h"

namespace assay {
namespace {

constexpr double kLeastWaitSeconds = 5e-6;
constexpr double kDeviations = 3;
// The median absolute deviation of normal noise, times this, is its standard deviation.
constexpr double kNormalScale = 1.4826;
constexpr double kShareOfCollective = 0.05;

bool SameLength(const std::vector<std::vector<double>>& inside) {
  return std::all_of(inside.begin(), inside.end(), [&](const std::vector<double>& one) {
    return one.size() == inside.front().size();
  });
}

// By iteration, what the median of the other ranks was inside for longer than `rank`.
std::vector<double> ExcessOfOthers(const std::vector<std::vector<double>>& inside, size_t rank) {
  std::vector<double> excess;
  for (size_t i = 0; i < inside[rank].size(); ++i) {
    std::vector<double> others;
    for (size_t other = 0; other < inside.size(); ++other) {
      if (other != rank) others.push_back(inside[other][i]);
    }
    excess.push_back(Summarize(std::move(others)).median - inside[rank][i]);
  }
  return excess;
}

}  // namespace

Result<std::vector<RankTimes>> TimesOfRanks(const std::vector<std::vector<double>>& inside) {
  if (inside.empty() || !SameLength(inside)) {
    return InvalidArgument("ranks differ in how many iterations they timed");
  }
  std::vector<double> least = inside.front();
  for (const std::vector<double>& one : inside) {
    for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], one[i]);
  }
  std::vector<RankTimes> ranks;
  for (const std::vector<double>& one : inside) {
    const Summary summary = Summarize(one);
    std::vector<double> waits;
    for (size_t i = 0; i < one.size(); ++i) waits.push_back(one[i] - least[i]);
    ranks.push_back({static_cast<int>(ranks.size()), summary.median, summary.p05, summary.p95,
                     summary.n, Summarize(std::move(waits)).median});
  }
  return ranks;
}

std::optional<SlowRank> FindSlowRank(const std::vector<std::vector<double>>& inside) {
  if (inside.size() < 2 || inside.front().empty() || !SameLength(inside)) return std::nullopt;
  size_t slow = 0;
  double shortest = Summarize(inside[0]).median;
  for (size_t rank = 1; rank < inside.size(); ++rank) {
    const double median = Summarize(inside[rank]).median;
    if (median >= shortest) continue;
    shortest = median;
    slow = rank;
  }
  const Summary excess = Summarize(ExcessOfOthers(inside, slow));
  const double noise = kDeviations * kNormalScale * excess.mad;
  // Not less or equal: a time that is no number names nobody.
  const bool beyond_noise =
      excess.median > std::max({kLeastWaitSeconds, noise, kShareOfCollective * shortest});
  if (!beyond_noise) return std::nullopt;
  return SlowRank{static_cast<int>(slow), excess.median};
}

}  // namespace assay
