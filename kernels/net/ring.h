// A ring of ranks over TCP, the all-reduce on it, and inputs whose sums are known.
#pragma once

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"
#include "gang/socket.h"
#include "kernels/benchmark.h"

namespace assay {

// One rank's two connections: it sends to rank + 1 and receives from rank - 1. Used by one thread.
class Ring {
 public:
  // Listens on `address`, exchanges the addresses over `peers` and connects. All ranks call it at
  // about the same time.
  static Result<Ring> Connect(Peers& peers, const std::string& address, Duration timeout);

  // Computes out = sum over ranks of `in` by a reduce-scatter and an all-gather: 2 (n - 1) steps in
  // each of which every rank sends 1/n of the elements (Patarasuk & Yuan 2009). Any number of
  // elements is allowed. Sending and receiving overlap, so no size deadlocks. An error names the
  // neighbour that is lost (PEER_LOST) or that sent nothing for `stall_timeout` (PEER_TIMEOUT). The
  // ring is then closed, so that the other ranks notice at once.
  Status AllReduce(const float* in, float* out, int64_t elements);

  void set_stall_timeout(Duration timeout) { stall_timeout_ = timeout; }

 private:
  struct Span {
    int64_t begin, end;
  };

  Ring(int rank, int world_size, Socket next, Socket previous);
  Status AllReduceSteps(const float* in, float* out, int64_t elements);
  // Sends `data` while receiving into `into`. Adds `addend` to the received elements unless it is
  // null.
  Status Exchange(const float* data, int64_t send_elements, float* into, int64_t receive_elements,
                  const float* addend);
  // Returns the part of `elements` that chunk `index` covers; `index` may be negative.
  Span Chunk(int64_t elements, int index) const;
  Status Name(int offset, const Status& error) const;

  int rank_;
  int world_size_;
  Socket next_;
  Socket previous_;
  Duration stall_timeout_ = std::chrono::seconds(30);
};

// Returns the input of rank `rank` at element `index`: a + rank * b, with a in [0, 1024) and b in
// [0, 8) derived from seed and index. Every rank can thus compute the sum of any element by itself,
// and it is exact in fp32.
float AllReduceInput(uint64_t seed, int rank, int64_t index);

// Returns the sum over all ranks, n a + b n (n - 1) / 2, which is below 2^24 for 64 ranks.
float AllReduceSum(uint64_t seed, int world_size, int64_t index);

// Compares every element exactly; NaN is a mismatch.
Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements);

}  // namespace assay
