#include "measure/candidates.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

struct Compared {
  Candidate candidate;
  double last = 0;   // Seconds of this round's turn.
  double total = 0;  // Sum over all rounds.
};

// Returns the first candidate, followed by the `most` others with the smallest seconds.
std::vector<Compared> Chosen(const std::vector<Candidate>& candidates, size_t most) {
  std::vector<Candidate> others(std::next(candidates.begin()), candidates.end());
  std::stable_sort(others.begin(), others.end(),
                   [](const Candidate& x, const Candidate& y) { return x.seconds < y.seconds; });
  others.resize(std::min(others.size(), most));
  std::vector<Compared> chosen = {{candidates.front()}};
  for (const Candidate& other : others) chosen.push_back({other});
  return chosen;
}

Status TakeRound(std::vector<Compared>& all, bool backwards, const CandidateRule& rule,
                 const TimeCandidate& turn) {
  for (size_t i = 0; i < all.size(); ++i) {
    Compared& next = all[backwards ? all.size() - 1 - i : i];
    ASSAY_ASSIGN_OR_RETURN(next.last, turn(next.candidate, rule));
    next.total += next.last;
  }
  return Status::Ok();
}

}  // namespace

Result<size_t> FastestCandidate(const std::vector<Candidate>& candidates, const CandidateRule& rule,
                                const TimeCandidate& turn) {
  std::vector<Compared> left = Chosen(candidates, rule.others);
  for (int round = 0; round < rule.rounds && left.size() > 1; ++round) {
    ASSAY_RETURN_IF_ERROR(TakeRound(left, round % 2 == 1, rule, turn));
    const double first = left.front().last;
    left.erase(std::remove_if(std::next(left.begin()), left.end(),
                              [&](const Compared& other) { return !(other.last < first); }),
               left.end());
  }
  const Compared& first = left.front();
  const Compared& best =
      *std::min_element(left.begin(), left.end(),
                        [](const Compared& x, const Compared& y) { return x.total < y.total; });
  return best.total < rule.clearly * first.total ? best.candidate.index : first.candidate.index;
}

}  // namespace assay
