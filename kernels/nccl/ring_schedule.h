// The order in which an all-reduce goes around a ring, as plain numbers: no CUDA, no NCCL.
//
// The array is cut into as many chunks as there are ranks. In step k of the first n - 1 (the
// reduce-scatter) every rank sends to its next one a chunk that it has summed up so far, and
// adds what its previous one sends to the same chunk of its own input: after them each rank
// has the whole sum of one chunk. In the other n - 1 (the all-gather) these go around once
// more. Every rank sends 2 (n - 1) / n of the array, and no rank can send less.
#pragma once

#include <cstdint>

namespace assay {

// One rank's place in a ring that runs towards higher ranks (direction 1) or lower (-1).
struct RingPlace {
  int ranks = 2;
  int rank = 0;
  int direction = 1;

  int next() const { return Around(rank + direction); }
  int previous() const { return Around(rank - direction); }
  int steps() const { return 2 * (ranks - 1); }
  // The rank, or chunk, of this number, counted around the ring.
  int Around(int number) const { return (number % ranks + ranks) % ranks; }
};

// What a rank does in one step. Chunks by number.
struct RingStep {
  int send = 0;
  int receive = 0;
  // True in the reduce-scatter: what is received is added to this rank's input.
  bool reduces = false;
};

RingStep RingStepOf(const RingPlace& place, int step);

// Consecutive elements.
struct Piece {
  int64_t first = 0;
  int64_t count = 0;
};

// Part `part` of `parts` nearly equal ones of `whole`, in order and without a gap. Each but
// the first begins a multiple of `granule` elements after the first; some may be empty.
Piece PartOf(const Piece& whole, int part, int parts, int64_t granule);

}  // namespace assay
