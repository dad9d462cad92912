#include "kernels/nccl/ring_schedule.h"

namespace assay {
namespace {

// Returns the number of elements before part `part`, a multiple of `granule`.
int64_t Begin(int64_t count, int part, int parts, int64_t granule) {
  if (part == parts) return count;
  const int64_t granules = count / granule;
  return (granules / parts * part + granules % parts * part / parts) * granule;
}

}  // namespace

RingStep RingStepOf(const RingPlace& place, int step) {
  const int rounds = place.ranks - 1;
  RingStep result;
  result.reduces = step < rounds;
  // In the reduce-scatter, a rank first sends the chunk with its own number. It ends up with the
  // complete sum of the chunk with the next rank's number, which it sends first in the all-gather.
  const int first = result.reduces ? place.rank : place.rank + place.direction;
  const int back = result.reduces ? step : step - rounds;
  result.send = place.Around(first - place.direction * back);
  result.receive = place.Around(first - place.direction * (back + 1));
  return result;
}

Piece PartOf(const Piece& whole, int part, int parts, int64_t granule) {
  const int64_t begin = Begin(whole.count, part, parts, granule);
  return {whole.first + begin, Begin(whole.count, part + 1, parts, granule) - begin};
}

}  // namespace assay
