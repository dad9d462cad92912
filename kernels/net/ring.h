// An all-reduce over a ring of TCP connections between ranks, and inputs whose sums are known.
#pragma once

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"
#include "gang/socket.h"
#include "kernels/benchmark.h"

namespace assay {

// One rank's place in a ring of ranks, with one connection for sending to rank + 1 and one for
// receiving from rank - 1. Must be used by a single thread.
class Ring {
 public:
  // Listens on `address` and connects this rank to its two neighbors in the ring. The ranks
  // exchange their addresses over `peers`, so all must call this at about the same time.
  static Result<Ring> Connect(Peers& peers, const std::string& address, Duration timeout);

  // Sets out[i] to the sum of in[i] over all ranks. Runs a reduce-scatter and then an all-gather,
  // in 2 (n - 1) steps (Patarasuk & Yuan 2009). In each step, every rank sends 1/n of the array.
  // Returns PEER_LOST if a neighbor is lost, and PEER_TIMEOUT if no data moves within the stall
  // timeout; the error names the neighbor. On any error, closes this rank's connections so that
  // the other ranks fail at once.
  Status AllReduce(const float* in, float* out, int64_t elements);

  void set_stall_timeout(Duration timeout) { stall_timeout_ = timeout; }

 private:
  struct Span {
    int64_t begin, end;
  };

  Ring(int rank, int world_size, Socket next, Socket previous);
  Status AllReduceSteps(const float* in, float* out, int64_t elements);
  // Sends `data` to the next rank while receiving from the previous rank into `into`. Unless
  // `addend` is null, adds its elements to those received.
  Status Exchange(const float* data, int64_t send_elements, float* into, int64_t receive_elements,
                  const float* addend);
  // Returns the range of chunk `index` in an array of `elements` elements that is divided into
  // one chunk per rank. `index` wraps around and may be negative.
  Span Chunk(int64_t elements, int index) const;
  Status Name(int offset, const Status& error) const;

  int rank_;
  int world_size_;
  Socket next_;
  Socket previous_;
  Duration stall_timeout_ = std::chrono::seconds(30);
};

// Returns element `index` of rank `rank`'s input, which is a + rank * b. Here a < 1024 and b < 8
// are random whole numbers that depend only on `seed` and `index`. Every rank can therefore
// compute the sum over all ranks on its own, and this sum is exact in fp32.
float AllReduceInput(uint64_t seed, int rank, int64_t index);

// Returns the sum of element `index` over the inputs of all ranks (see AllReduceInput). For up to
// 64 ranks, it is below 2^24, so fp32 represents it exactly.
float AllReduceSum(uint64_t seed, int world_size, int64_t index);

// Compares every element of `out` with the exact sum. NaN counts as a mismatch.
Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements);

}  // namespace assay
