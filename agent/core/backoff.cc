#include "agent/core/backoff.h"

#include <algorithm>

namespace assay::agent {
namespace {

constexpr Duration kLeast = std::chrono::milliseconds(200);
constexpr Duration kFirstBound = std::chrono::seconds(1);
constexpr Duration kLastBound = std::chrono::seconds(60);
constexpr Duration kStable = std::chrono::minutes(2);
constexpr int kDoublings = 6;  // 1 s to 64 s, limited by the maximum.

}  // namespace

Duration Backoff::Next(std::optional<Duration> within) {
  Duration bound = std::min(kLastBound, kFirstBound * (1 << std::min(attempt_, kDoublings)));
  if (within) bound = std::max(kLeast, std::min(bound, *within));
  ++attempt_;
  std::uniform_int_distribution<int64_t> wait(kLeast.count(), bound.count());
  return Duration(wait(random_));
}

void Backoff::SessionEnded(Duration lived) {
  if (lived >= kStable) attempt_ = 0;
}

}  // namespace assay::agent
