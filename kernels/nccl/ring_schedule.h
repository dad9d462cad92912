// Computes which part of an array each rank sends in each step of a ring all-reduce.
//
// The array is divided into one chunk per rank. In each of the first n - 1 steps (the
// reduce-scatter), every rank sends a partial sum of one chunk to the next rank, and adds its own
// input to the chunk it receives. Each rank then holds the complete sum of one chunk. In the
// remaining n - 1 steps (the all-gather), these sums travel around the ring. In total, every rank
// sends 2 (n - 1) / n of the array, which is the minimum.
#pragma once

#include <cstdint>

namespace assay {

// One rank's place in a ring. Data travels toward higher ranks if `direction` is 1, and toward
// lower ranks if it is -1.
struct RingPlace {
  int ranks = 2;
  int rank = 0;
  int direction = 1;

  int next() const { return Around(rank + direction); }
  int previous() const { return Around(rank - direction); }
  int steps() const { return 2 * (ranks - 1); }
  // Returns `number` modulo the number of ranks, as the number of a rank or of a chunk.
  int Around(int number) const { return (number % ranks + ranks) % ranks; }
};

// The numbers of the chunks that a rank sends and receives in one step.
struct RingStep {
  int send = 0;
  int receive = 0;
  // True in the steps of the reduce-scatter, which add the received chunk to this rank's input.
  bool reduces = false;
};

RingStep RingStepOf(const RingPlace& place, int step);

// A range of consecutive elements.
struct Piece {
  int64_t first = 0;
  int64_t count = 0;
};

// Divides `whole` into `parts` consecutive parts of nearly equal size, and returns part number
// `part`. Every part begins at a multiple of `granule` elements from the start of `whole`. Parts
// may be empty.
Piece PartOf(const Piece& whole, int part, int parts, int64_t granule);

}  // namespace assay
