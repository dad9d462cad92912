// Runs the ring_all_reduce benchmark: an all-reduce that sends messages around a ring with ncclSend
// and ncclRecv, and adds them with Assay's own kernel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/rotation.h"
#include "kernels/nccl/collective_types.h"
#include "kernels/nccl/communicator.h"
#include "kernels/nccl/launch_queue.h"
#include "kernels/nccl/ring_schedule.h"

namespace assay {

// The number of lanes. A lane is an NCCL communicator with two rings, one in each direction. With
// two lanes, the messages of one keep the links busy while the other starts its next messages. Each
// ring reduces an equal share of the array.
inline constexpr int kLanes = 2;
inline constexpr int kRings = 2 * kLanes;

// Returns the default number of messages per step for an array of `bytes` bytes on `ranks` ranks.
int MessagesPerStep(int64_t bytes, int ranks);

class RingCase : public Case {
 public:
  // The parameters in `context` must have passed CheckParameters(), and `context.peers` must not be
  // null.
  explicit RingCase(const RunContext& context);
  ~RingCase() override;

  // Must be called once by all ranks, before all other methods.
  Status Prepare();

  Timing HowTimed() const override;
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }
  Result<Verdict> Verify() override;
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;
  Result<Verdict> VerifyLast() override;
  // Measures the bus bandwidth of NCCL's own all-reduce of the same array.
  Result<Ceilings> MeasureCeilings() override;

  // Returns the output of the latest iteration. Tests corrupt it to check that VerifyLast() fails.
  OutputRange LastOutput() const { return {OutputOf(last_set_), bytes_}; }

 private:
  // One ring.
  struct Ring {
    RingPlace place;
    Piece piece;               // Its part of the array.
    void* received = nullptr;  // A chunk, where messages wait to be added.
  };
  // A communicator, its two rings (one per direction), and the streams and events that they need.
  struct Lane {
    std::array<Ring, 2> rings;
    std::unique_ptr<Communicator> communicator;
    CudaStream messages;
    CudaStream sums;
    std::vector<CudaEvent> arrived;  // One per message of a step.
    std::vector<CudaEvent> added;
    CudaEvent done;
    LaunchQueue queue;
  };

  Status PlanOnThisRank(int64_t* sets);
  Status AllocateOnThisRank();
  void* InputOf(int64_t set) const { return memory_.At(set * set_bytes_); }
  void* OutputOf(int64_t set) const {
    return in_place_ ? InputOf(set) : memory_.At(set * set_bytes_ + set_bytes_ / 2);
  }
  void* ElementAt(void* base, int64_t element) const {
    return static_cast<char*>(base) + element * type_.bytes;
  }
  // Returns the number of elements in a 16-byte vector. Every piece of the array begins at a
  // multiple of this number.
  int64_t Granule() const { return 16 / type_.bytes; }
  Piece ChunkOf(const Ring& ring, int chunk) const {
    return PartOf(ring.piece, chunk, ring.place.ranks, Granule());
  }
  Piece MessageOf(const Ring& ring, int chunk, int message) const {
    return PartOf(ChunkOf(ring, chunk), message, messages_, Granule());
  }
  // Returns the address in the receive buffer where `piece`, a part of chunk number `chunk`, is
  // kept until it is added.
  void* PlaceOf(const Ring& ring, int chunk, const Piece& piece) const {
    return ElementAt(ring.received, piece.first - ChunkOf(ring, chunk).first);
  }

  Status FillRandomInput(int64_t set);
  // Fills the output buffer of `set` with 0xff bytes to expose elements that are never written.
  // Does nothing if the output overwrites the input.
  Status Poison(int64_t set);
  // Enqueues one all-reduce of the next set of buffers.
  Status Iterate();
  Status Enqueue(int64_t set);
  // Enqueues the transfer of message number `message` in step `step`, in both rings of `lane`,
  // along with the additions that follow.
  Status EnqueueMessages(Lane* lane, int step, int message, int64_t set);
  // Enqueues the send and the receive of one message in one ring. The caller combines the calls
  // for both rings of a lane in one NCCL group.
  Status SendAndReceive(const Lane& lane, const Ring& ring, int step, int message, int64_t set);
  Status EnqueueSum(const Lane& lane, const Ring& ring, int step, int message, int64_t set);
  // Enqueues NCCL's all-reduce of the same input, which writes its result to reference_.
  Status EnqueueReference(int64_t set);
  Result<Verdict> CheckPattern(int64_t set);
  Result<Verdict> CheckRandom(int64_t set);
  Status Wait();

  const std::string dtype_;
  const CollectiveType& type_;
  const int64_t bytes_;
  const int64_t count_;
  const int messages_;  // Per ring and step.
  const bool in_place_;
  const uint64_t seed_;
  const int gpu_;
  Peers& peers_;
  GpuDevice device_;
  int64_t set_bytes_ = 0;    // Bytes from one set to the next.
  int64_t chunk_bytes_ = 0;  // Bytes of the largest chunk.
  CudaStream stream_;        // Iterations start and end in this stream.
  CudaEvent begin_;
  DeviceBuffer memory_;  // The sets: input, then output unless in place.
  DeviceBuffer received_;
  DeviceBuffer reference_;
  Rotation rotation_;
  int64_t last_set_ = 0;
  EventTimer timer_;
  std::array<Lane, kLanes> lanes_;
};

}  // namespace assay
