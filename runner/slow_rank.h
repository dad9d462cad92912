// Which rank of a gang comes last: the others wait for it inside the collective, and it
// waits for nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.h"

namespace assay {

// One rank's seconds inside the iterations of the diagnosis.
struct RankTimes {
  int rank = 0;
  double median = 0;
  double p05 = 0;
  double p95 = 0;
  int64_t n = 0;
  // Median over the iterations of what this rank was inside for longer than the rank that
  // was inside for the shortest time: how long it waited for others.
  double wait = 0;
};

struct SlowRank {
  int rank = 0;
  // How much longer the others were inside, a median.
  double others_wait_seconds = 0;
};

// By rank; `inside` has for every rank its seconds by iteration. INVALID_ARGUMENT unless all
// ranks have as many.
Result<std::vector<RankTimes>> TimesOfRanks(const std::vector<std::vector<double>>& inside);

// The rank that the others wait for, if they do beyond noise: by more than 5 us, 3 scaled
// median absolute deviations of what they wait, and 5% of the time that the rank itself is
// inside. `inside` as above, with at least two ranks.
std::optional<SlowRank> FindSlowRank(const std::vector<std::vector<double>>& inside);

}  // namespace assay
