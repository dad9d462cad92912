// Which of several ways of doing the same work is the fastest, where turns of one and the same
// differ: at its power limit a GPU's clock follows what ran before, and by a percent and more
// nothing at all.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

struct ContestRule {
  // Ways that are compared with the favourite: those that were fastest at first sight.
  size_t rivals = 3;
  // A rival that is slower than the favourite in one of the rounds is out. Each round goes
  // through them the other way, so that what drifts evenly favours none twice.
  int rounds = 3;
  // And a rival has to be this much faster over all rounds.
  double clearly = 0.997;
  // Of a turn: how long the work runs before it is timed, until clocks are those of this way,
  // and how long it is timed. The defaults are for work that brings a GPU to its power limit.
  // With 0.08 s and 0.1 s, in two rounds, fp16 8192 x 8192 x 8192 was given another algorithm on
  // one of two H200s: 621 TFLOP/s instead of 653.
  double follow_seconds = 0.3;
  double timed_seconds = 0.5;
};

// A way, and the seconds that the work took by it at first sight.
struct Entrant {
  size_t way = 0;
  double seconds = 0;
};

// One turn of `entrant`: the mean seconds of the work, as long as the rule says.
using TakeTurn = std::function<Result<double>(const Entrant& entrant, const ContestRule& rule)>;

// The way to choose of `entrants`, of which the first is the favourite; there is one at least.
// Takes a turn of up to 1 + `rivals` ways in up to `rounds` rounds, and ends early where no rival
// is left.
Result<size_t> FastestWay(const std::vector<Entrant>& entrants, const ContestRule& rule,
                          const TakeTurn& turn);

}  // namespace assay
