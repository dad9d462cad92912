// Selects the fastest of several implementations of the same work. Measuring each of them once is
// not enough, because times vary by one percent or more, and the clock of a GPU at its power limit
// depends on the preceding work.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/status.h"

namespace assay {

struct CandidateRule {
  // The number of candidates to compare with the first one. They are the fastest according to an
  // initial, short measurement (Candidate::seconds).
  size_t others = 3;
  // The maximum number of rounds. In each round, every remaining candidate runs once, and any that
  // are not faster than the first one are dropped. Every second round runs in reverse order, so
  // that steady clock drift does not favor any candidate.
  int rounds = 3;
  // A candidate is chosen only if its total time over all rounds is less than this fraction of the
  // first candidate's total time.
  double clearly = 0.997;
  // The duration of a candidate's run in each round, in seconds. During the untimed first part,
  // `follow_seconds`, the clocks settle after the previous candidate. The defaults are long enough
  // for work that drives a GPU to its power limit. Shorter times (0.08 s and 0.1 s, in two rounds)
  // selected a slow algorithm for an fp16 GEMM of size 8192 on one of two H200s: 621 instead of 653
  // TFLOP/s.
  double follow_seconds = 0.3;
  double timed_seconds = 0.5;
};

// A candidate, and the time in seconds of a first, short measurement.
struct Candidate {
  size_t index = 0;
  double seconds = 0;
};

// A function that runs the work with `candidate`, first untimed and then timed, for the durations
// in `rule`, and returns the mean time of the timed part in seconds.
using TimeCandidate =
    std::function<Result<double>(const Candidate& candidate, const CandidateRule& rule)>;

// Returns the index of the fastest candidate, or 0 if no other candidate is clearly faster than the
// first. Compares the first candidate with up to `rule.others` others in up to `rule.rounds`
// rounds, ending early once all others have been dropped. `candidates` must not be empty.
Result<size_t> FastestCandidate(const std::vector<Candidate>& candidates, const CandidateRule& rule,
                                const TimeCandidate& turn);

}  // namespace assay
