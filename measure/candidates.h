// Chooses the fastest of several implementations of the same work, although repeated runs of one
// implementation differ. At its power limit a GPU's clock depends on what ran before, and without
// any cause it varies by a percent and more.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

struct CandidateRule {
  // Number of candidates that are compared with the first one: the fastest at the first timing.
  size_t others = 3;
  // A candidate that is slower than the first one in any round is dropped. Rounds alternate in
  // direction, so that a steady drift favours none.
  int rounds = 3;
  // A candidate must also be this much faster over all rounds.
  double clearly = 0.997;
  // Per turn: how long the work runs untimed, until the clocks have settled for this
  // implementation, and how long it is timed. The defaults suit work that brings a GPU to its power
  // limit. With 0.08 s and 0.1 s, in two rounds, fp16 8192 x 8192 x 8192 was given another
  // algorithm on one of two H200s: 621 TFLOP/s instead of 653.
  double follow_seconds = 0.3;
  double timed_seconds = 0.5;
};

// A candidate, and the seconds that the work took at its first timing.
struct Candidate {
  size_t index = 0;
  double seconds = 0;
};

// Runs one turn of `candidate` as long as the rule says, and returns the mean seconds of the work.
using TimeCandidate =
    std::function<Result<double>(const Candidate& candidate, const CandidateRule& rule)>;

// Returns the chosen candidate. The first of `candidates`, which must not be empty, is preferred
// unless another is clearly faster. Up to 1 + `others` candidates take turns in up to `rounds`
// rounds; the comparison ends early when none is left.
Result<size_t> FastestCandidate(const std::vector<Candidate>& candidates, const CandidateRule& rule,
                                const TimeCandidate& turn);

}  // namespace assay
