#include "measure/contest.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

struct Contestant {
  Entrant entrant;
  double last = 0;   // Seconds of this round's turn.
  double total = 0;  // Sum over all rounds.
};

// The first candidate, then the others that are compared.
std::vector<Contestant> Chosen(const std::vector<Entrant>& entrants, size_t rivals) {
  std::vector<Entrant> others(std::next(entrants.begin()), entrants.end());
  std::stable_sort(others.begin(), others.end(),
                   [](const Entrant& x, const Entrant& y) { return x.seconds < y.seconds; });
  others.resize(std::min(others.size(), rivals));
  std::vector<Contestant> chosen = {{entrants.front()}};
  for (const Entrant& other : others) chosen.push_back({other});
  return chosen;
}

Status TakeRound(std::vector<Contestant>& all, bool backwards, const ContestRule& rule,
                 const TakeTurn& turn) {
  for (size_t i = 0; i < all.size(); ++i) {
    Contestant& next = all[backwards ? all.size() - 1 - i : i];
    ASSAY_ASSIGN_OR_RETURN(next.last, turn(next.entrant, rule));
    next.total += next.last;
  }
  return Status::Ok();
}

}  // namespace

Result<size_t> FastestWay(const std::vector<Entrant>& entrants, const ContestRule& rule,
                          const TakeTurn& turn) {
  std::vector<Contestant> left = Chosen(entrants, rule.rivals);
  for (int round = 0; round < rule.rounds && left.size() > 1; ++round) {
    ASSAY_RETURN_IF_ERROR(TakeRound(left, round % 2 == 1, rule, turn));
    const double favourite = left.front().last;
    left.erase(std::remove_if(std::next(left.begin()), left.end(),
                              [&](const Contestant& rival) { return !(rival.last < favourite); }),
               left.end());
  }
  const Contestant& favourite = left.front();
  const Contestant& best =
      *std::min_element(left.begin(), left.end(),
                        [](const Contestant& x, const Contestant& y) { return x.total < y.total; });
  return best.total < rule.clearly * favourite.total ? best.entrant.way : favourite.entrant.way;
}

}  // namespace assay
