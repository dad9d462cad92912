// Selects the fastest of several implementations of the same work, in spite of noise. At its power
// limit, a GPU's clock depends on what ran before; and even without a cause, times vary by one
// percent or more.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

struct CandidateRule {
  // Number of candidates that are compared with the first one: those with the shortest first times.
  size_t others = 3;
  // The maximum number of rounds, in each of which every candidate runs once. A candidate that is
  // slower than the first in any round is dropped. Every other round runs in reverse order, so that
  // a steady drift of the clocks favors no candidate.
  int rounds = 3;
  // To be chosen, the time of a candidate over all rounds must also be less than this fraction of
  // the time of the first one.
  double clearly = 0.997;
  // How long a candidate runs in each round: first untimed, until the clocks have settled, then
  // timed. The defaults suit work that brings a GPU to its power limit. Shorter times (0.08 s and
  // 0.1 s, in two rounds) chose a slow algorithm for an fp16 GEMM of size 8192 on one of two H200:
  // 621 TFLOP/s instead of 653.
  double follow_seconds = 0.3;
  double timed_seconds = 0.5;
};

// A candidate, and the seconds that the work took at its first timing.
struct Candidate {
  size_t index = 0;
  double seconds = 0;
};

// Runs the work with `candidate`, untimed and then timed, for as long as `rule` says. Returns the
// mean time of the work in seconds.
using TimeCandidate =
    std::function<Result<double>(const Candidate& candidate, const CandidateRule& rule)>;

// Returns the index of the selected candidate, which is the first of `candidates` unless another is
// clearly faster. `candidates` must not be empty. Compares the first with up to `rule.others`
// others in up to `rule.rounds` rounds, and ends early when all others have been dropped.
Result<size_t> FastestCandidate(const std::vector<Candidate>& candidates, const CandidateRule& rule,
                                const TimeCandidate& turn);

}  // namespace assay
