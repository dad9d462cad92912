// A ring of ranks over TCP, and the all-reduce on it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/socket.h"
#include "gang/peers.h"

namespace assay {

// One rank's two connections: it sends to rank + 1 and receives from rank - 1.
// Used by one thread.
class Ring {
 public:
  // Called by all ranks at about the same time: listens on `address`, exchanges
  // where over `peers`, connects.
  static Result<Ring> Connect(Peers& peers, const std::string& address, Duration timeout);

  // out = sum over ranks of `in`, by reduce-scatter and all-gather: 2 (n - 1) steps
  // in each of which every rank sends 1/n of the elements (Patarasuk & Yuan 2009).
  // Any number of elements. Sending and receiving go on together, so no size
  // deadlocks. A neighbour that is gone (PEER_LOST), or from which nothing came for
  // `stall_timeout` (PEER_TIMEOUT), is named; the ring is then closed, so that the
  // ranks beyond learn of it at once.
  Status AllReduce(const float* in, float* out, int64_t elements);

  void set_stall_timeout(Duration timeout) { stall_timeout_ = timeout; }

 private:
  struct Span {
    int64_t begin, end;
  };

  Ring(int rank, int world_size, Socket next, Socket previous);
  Status AllReduceSteps(const float* in, float* out, int64_t elements);
  // Sends `size` bytes of `data` while receiving into `into`, adding `addend` to
  // what arrives if it is not null.
  Status Exchange(const float* data, int64_t send_elements, float* into, int64_t receive_elements,
                  const float* addend);
  // The part of `elements` that chunk `index` covers; `index` may be negative.
  Span Chunk(int64_t elements, int index) const;
  Status Name(int offset, const Status& error) const;

  int rank_;
  int world_size_;
  Socket next_;
  Socket previous_;
  Duration stall_timeout_ = std::chrono::seconds(30);
};

}  // namespace assay
