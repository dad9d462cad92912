#include "runner/rank_times.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "gang/peers.h"
#include "host/nvml.h"
#include "measure/statistics.h"

namespace assay {
namespace {

constexpr double kSeconds = 1;
constexpr int64_t kLeastRankIterations = 16;
constexpr int64_t kMostRankIterations = 64;

// Serializes the place as "GPU HOST\n", followed by the bytes of the seconds.
std::string Pack(const RankPlace& place, const std::vector<double>& seconds) {
  std::string bytes = std::to_string(place.gpu_index) + " " + place.host + "\n";
  const size_t head = bytes.size();
  bytes.resize(head + seconds.size() * sizeof(double));
  if (!seconds.empty()) std::memcpy(&bytes[head], seconds.data(), bytes.size() - head);
  return bytes;
}

Status Unpack(const std::string& bytes, RankPlace* place, std::vector<double>* seconds) {
  const size_t space = bytes.find(' ');
  const size_t line = bytes.find('\n');
  if (space == std::string::npos || line == std::string::npos || line < space ||
      (bytes.size() - line - 1) % sizeof(double) != 0) {
    return Internal("a rank sent unreadable times", Reason::kBadMessage);
  }
  std::from_chars(bytes.data(), bytes.data() + space, place->gpu_index);
  place->host = bytes.substr(space + 1, line - space - 1);
  seconds->resize((bytes.size() - line - 1) / sizeof(double));
  if (!seconds->empty()) std::memcpy(seconds->data(), &bytes[line + 1], bytes.size() - line - 1);
  return Status::Ok();
}

// Computes the number of iterations at rank 0 and returns it at every rank.
Result<int64_t> ShareIterations(Peers& peers, double iteration_seconds) {
  const double fitting = kSeconds / std::max(iteration_seconds, 1e-6);
  std::string text = std::to_string(
      std::clamp(static_cast<int64_t>(fitting), kLeastRankIterations, kMostRankIterations));
  ASSAY_RETURN_IF_ERROR(peers.Broadcast(&text, kPeerTimeout));
  int64_t iterations = 0;
  std::from_chars(text.data(), text.data() + text.size(), iterations);
  if (iterations >= kLeastRankIterations && iterations <= kMostRankIterations) return iterations;
  return Internal("rank 0 sent an unreadable number of iterations", Reason::kBadMessage);
}

constexpr double kLeastWaitSeconds = 5e-6;
constexpr double kDeviations = 3;
// The ratio of the standard deviation of normal noise to its median absolute deviation.
constexpr double kNormalScale = 1.4826;
constexpr double kShareOfCollective = 0.05;

bool SameLength(const std::vector<std::vector<double>>& inside) {
  return std::all_of(inside.begin(), inside.end(), [&](const std::vector<double>& one) {
    return one.size() == inside.front().size();
  });
}

// Returns, for each iteration, the median time that the other ranks spent in the collective
// operation minus the time that `rank` spent in it. If the others wait for `rank`, the differences
// are positive.
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
  // Written so that the comparison is false if a value is NaN. No rank is then reported.
  const bool beyond_noise =
      excess.median > std::max({kLeastWaitSeconds, noise, kShareOfCollective * shortest});
  if (!beyond_noise) return std::nullopt;
  return SlowRank{static_cast<int>(slow), excess.median};
}

RankPlace PlaceOf(const RunContext& context, const std::string& gpu_uuid) {
  RankPlace place;
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) place.host = name;
  place.gpu_index = context.gpu;
  if (gpu_uuid.empty()) return place;
  const auto nvml = Nvml::Open(nullptr);
  if (nvml.ok()) place.gpu_index = (*nvml)->FindByUuid(gpu_uuid).value_or(context.gpu);
  return place;
}

Result<GangReport> DiagnoseRanks(Case& prepared, const RunContext& context, const RankPlace& place,
                                 double iteration_seconds) {
  Peers& peers = *context.peers;
  ASSAY_ASSIGN_OR_RETURN(const int64_t iterations, ShareIterations(peers, iteration_seconds));
  const auto mine = prepared.Diagnose(iterations);
  ASSAY_RETURN_IF_ERROR(Agree(peers, mine.status(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(const auto all, peers.Gather(Pack(place, mine->inside), kPeerTimeout));
  GangReport report;
  if (context.rank != 0) return report;
  std::vector<std::vector<double>> inside(all.size());
  report.places.resize(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    ASSAY_RETURN_IF_ERROR(Unpack(all[rank], &report.places[rank], &inside[rank]));
  }
  report.choice = mine->choice;
  if (mine->inside.empty()) return report;
  ASSAY_ASSIGN_OR_RETURN(report.times, TimesOfRanks(inside));
  if (mine->mutual) report.slow = FindSlowRank(inside);
  return report;
}

}  // namespace assay
