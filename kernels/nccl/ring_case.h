// An all-reduce written out: messages of ncclSend and ncclRecv around a ring, the sums by a
// kernel of Assay's, as a case.
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
#include "kernels/nccl/stream_order.h"

namespace assay {

// Rings that share the array evenly: each of kLanes communicators has one in either direction.
// NCCL carries both directions' messages at once, and lets those of the next step follow:
// while one communicator's next messages are being started, the other's are on the links.
inline constexpr int kLanes = 2;
inline constexpr int kRings = 2 * kLanes;

// Messages of a step that ring_all_reduce chooses for arrays of `bytes` on `ranks` ranks.
int MessagesPerStep(int64_t bytes, int ranks);

class RingCase : public Case {
 public:
  // The context's parameters have passed CanonicalParameters; it has peers.
  explicit RingCase(const RunContext& context);
  ~RingCase() override;

  // To be called once, before anything else, by all ranks.
  Status Prepare();

  Timing HowTimed() const override;
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }
  Result<Verdict> Verify() override;
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;
  Result<Verdict> VerifyLast() override;
  // The bus bandwidth of NCCL's own all-reduce of the same array.
  Result<Ceilings> MeasureCeilings() override;

  // The output of the latest iteration: what a test spoils to see VerifyLast fail.
  OutputRange LastOutput() const { return {OutputOf(last_set_), bytes_}; }

 private:
  // One ring's part.
  struct Ring {
    RingPlace place;
    Piece piece;               // Of the array.
    void* received = nullptr;  // A chunk: where messages wait to be added.
  };
  // Two rings in step.
  struct Lane {
    std::array<Ring, 2> rings;
    std::unique_ptr<Communicator> communicator;
    UrgentStream messages;
    CudaStream sums;
    std::vector<OrderEvent> arrived;  // One for each message of a step.
    std::vector<OrderEvent> added;
    OrderEvent done;
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
  // Elements of a 16-byte vector, at whose multiples all pieces begin.
  int64_t Granule() const { return 16 / type_.bytes; }
  Piece ChunkOf(const Ring& ring, int chunk) const {
    return PartOf(ring.piece, chunk, ring.place.ranks, Granule());
  }
  Piece MessageOf(const Ring& ring, int chunk, int message) const {
    return PartOf(ChunkOf(ring, chunk), message, messages_, Granule());
  }
  // Where `piece` of `chunk`, once received, waits to be added.
  void* PlaceOf(const Ring& ring, int chunk, const Piece& piece) const {
    return ElementAt(ring.received, piece.first - ChunkOf(ring, chunk).first);
  }

  Status FillRandomInput(int64_t set);
  // 0xff bytes, which no right output has, where results and messages will be.
  Status Poison(int64_t set);
  // One all-reduce, of the next set.
  Status Iterate();
  Status Enqueue(int64_t set);
  // Message `message` of `step` in both directions, and the sums that they are for.
  Status EnqueueMessages(Lane* lane, int step, int message, int64_t set);
  // Both of one ring's, to be grouped with the other's.
  Status SendAndReceive(const Lane& lane, const Ring& ring, int step, int message, int64_t set);
  Status EnqueueSum(const Lane& lane, const Ring& ring, int step, int message, int64_t set);
  // NCCL's result of the same input into reference_.
  Status EnqueueReference(int64_t set);
  Result<Verdict> CheckPattern(int64_t set);
  Result<Verdict> CheckRandom(int64_t set);
  Status Wait();

  const std::string dtype_;
  const CollectiveType& type_;
  const int64_t bytes_;
  const int64_t count_;
  const int messages_;  // Of each ring in a step.
  const bool in_place_;
  const uint64_t seed_;
  const int gpu_;
  Peers& peers_;
  GpuDevice device_;
  int64_t set_bytes_ = 0;    // From one set to the next.
  int64_t chunk_bytes_ = 0;  // Of the largest chunk.
  CudaStream stream_;        // Iterations begin and end here.
  OrderEvent begin_;
  DeviceBuffer memory_;  // Sets: input, then output unless in place.
  DeviceBuffer received_;
  DeviceBuffer reference_;
  Rotation rotation_;
  int64_t last_set_ = 0;
  EventTimer timer_;
  std::array<Lane, kLanes> lanes_;
};

}  // namespace assay
