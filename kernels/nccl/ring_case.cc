#include "kernels/nccl/ring_case.h"

#include <algorithm>
#include <utility>

#include "common/units.h"
#include "gang/peers.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/nccl/reduce_pattern.h"
#include "kernels/nccl/ring_kernels.h"
#include "kernels/rank_numbers.h"
#include "measure/statistics.h"

namespace assay {
namespace {

// The size of an L2 cache line, in bytes. Buffers are aligned to it, so that no two buffers share
// a line.
constexpr int64_t kAlignment = 128;
// The maximum number of thread blocks of the addition kernel: enough to add data as fast as the
// links deliver it, while leaving room for NCCL's kernels.
constexpr int kSumBlocks = 64;
constexpr int64_t kReferenceSamples = 9;
// The smallest message, in bytes, that is worth sending separately on an H200. Splitting a
// transfer into messages lets the GPU add one while the next one arrives. However, each message
// costs about 20 us, which outweighs the gain for smaller messages.
constexpr int64_t kMessageBytes = int64_t{16} << 20;
constexpr int64_t kMostMessages = 2;

// Returns the number of thread blocks (channels) that NCCL may use. NCCL's default would leave most
// of the link bandwidth unused: it divides the channels among all ranks, but in a ring, a rank
// sends only to its two neighbors. With this setting, a message between two of four ranks uses 16
// channels instead of 8.
int CtasOf(const NcclLibrary& nccl) { return nccl.version >= 22800 ? 64 : 32; }

}  // namespace

int MessagesPerStep(int64_t bytes, int ranks) {
  const int64_t chunk = bytes / kRings / ranks;
  return static_cast<int>(std::clamp<int64_t>(chunk / kMessageBytes, 1, kMostMessages));
}

RingCase::RingCase(const RunContext& context)
    : dtype_(Word(context.parameters, "dtype")),
      type_(CollectiveTypeOf(dtype_)),
      bytes_(Integer(context.parameters, "bytes")),
      count_(bytes_ / type_.bytes),
      messages_(Integer(context.parameters, "chunks") != 0
                    ? static_cast<int>(Integer(context.parameters, "chunks"))
                    : MessagesPerStep(bytes_, context.world_size)),
      in_place_(Word(context.parameters, "in_place") == "true"),
      seed_(context.seed),
      gpu_(context.gpu),
      peers_(*context.peers) {
  int number = 0;
  for (Lane& lane : lanes_) {
    int direction = 1;
    for (Ring& ring : lane.rings) {
      ring.place = {context.world_size, context.rank, direction};
      ring.piece = PartOf({0, count_}, number++, kRings, Granule());
      direction = -direction;
    }
  }
}

RingCase::~RingCase() {
  const auto aborted = [](const Lane& lane) {
    return lane.communicator != nullptr && lane.communicator->aborted();
  };
  if (!std::any_of(lanes_.begin(), lanes_.end(), aborted)) return;
  // Aborts all communicators if one was aborted, because the kernels of the others would wait
  // forever.
  for (Lane& lane : lanes_) {
    if (lane.communicator != nullptr) lane.communicator->Abort();
  }
}

Status RingCase::Prepare() {
  int64_t sets = 0;
  ASSAY_RETURN_IF_ERROR(Agree(peers_, PlanOnThisRank(&sets), kPeerTimeout));
  // All ranks must use the same number of sets, because the pattern of the data depends on the set.
  ASSAY_ASSIGN_OR_RETURN(sets, LeastOfRanks(peers_, sets));
  rotation_ = Rotation(sets);
  ASSAY_RETURN_IF_ERROR(Agree(peers_, AllocateOnThisRank(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(const NcclLibrary* const nccl, LoadNccl());
  for (Lane& lane : lanes_) {
    ASSAY_ASSIGN_OR_RETURN(lane.communicator,
                           Communicator::Connect(peers_, gpu_, kPeerTimeout, CtasOf(*nccl)));
  }
  return Status::Ok();
}

Status RingCase::PlanOnThisRank(int64_t* sets) {
  ASSAY_ASSIGN_OR_RETURN(device_, UseGpu(gpu_));
  ASSAY_ASSIGN_OR_RETURN(const NcclLibrary* const nccl, LoadNccl());
  ASSAY_RETURN_IF_ERROR(CheckType(type_, true, *nccl, device_));
  for (const Lane& lane : lanes_) {
    for (const Ring& ring : lane.rings) {
      for (int chunk = 0; chunk < ring.place.ranks; ++chunk) {
        chunk_bytes_ = std::max(chunk_bytes_, ChunkOf(ring, chunk).count * type_.bytes);
      }
    }
  }
  chunk_bytes_ = AlignUp(chunk_bytes_, kAlignment);
  set_bytes_ = AlignUp(bytes_, kAlignment) * (in_place_ ? 1 : 2);
  // The memory for NCCL's result and for received chunks is reserved before the sets of buffers.
  const int64_t beside = AlignUp(bytes_, kAlignment) + kRings * chunk_bytes_;
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  ASSAY_ASSIGN_OR_RETURN(
      const Rotation plan,
      PlanRotation(true, set_bytes_, device_.l2_bytes, std::max<int64_t>(available - beside, 0),
                   "input and output of " + ApproximateBytes(set_bytes_) + " beside " +
                       ApproximateBytes(beside) + " for NCCL's result and messages"));
  *sets = plan.sets();
  return Status::Ok();
}

Status RingCase::AllocateOnThisRank() {
  ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(begin_, CudaEvent::Create());
  ASSAY_ASSIGN_OR_RETURN(memory_,
                         DeviceBuffer::Allocate(rotation_.sets() * set_bytes_, "the buffers"));
  ASSAY_ASSIGN_OR_RETURN(received_,
                         DeviceBuffer::Allocate(kRings * chunk_bytes_, "received chunks"));
  ASSAY_ASSIGN_OR_RETURN(reference_, DeviceBuffer::Allocate(bytes_, "NCCL's result"));
  int64_t number = 0;
  for (Lane& lane : lanes_) {
    for (Ring& ring : lane.rings) ring.received = received_.At(number++ * chunk_bytes_);
    ASSAY_ASSIGN_OR_RETURN(lane.messages, CudaStream::CreateUrgent());
    ASSAY_ASSIGN_OR_RETURN(lane.sums, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(lane.done, CudaEvent::Create());
    for (int i = 0; i < messages_; ++i) {
      ASSAY_ASSIGN_OR_RETURN(CudaEvent arrived, CudaEvent::Create());
      lane.arrived.push_back(std::move(arrived));
      ASSAY_ASSIGN_OR_RETURN(CudaEvent added, CudaEvent::Create());
      lane.added.push_back(std::move(added));
    }
  }
  for (int64_t set = 0; set < rotation_.sets(); ++set) {
    ASSAY_RETURN_IF_ERROR(FillRandomInput(set));
  }
  ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
  return Status::Ok();
}

Timing RingCase::HowTimed() const {
  const bool cold = rotation_.sets() * set_bytes_ >= 2 * device_.l2_bytes;
  return {cold ? "cold" : "hot", "random", "events"};
}

Status RingCase::FillRandomInput(int64_t set) {
  const auto sequence = static_cast<uint64_t>(peers_.rank()) + 1;
  return FillRandom(dtype_, seed_, sequence, set * count_, count_, InputOf(set), stream_.get());
}

Status RingCase::Poison(int64_t set) {
  if (in_place_) return Status::Ok();
  return SetBytes(OutputOf(set), 0xff, bytes_, stream_.get());
}

Status RingCase::Iterate() {
  last_set_ = rotation_.Next();
  return Enqueue(last_set_);
}

Status RingCase::Enqueue(int64_t set) {
  ASSAY_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  for (const Lane& lane : lanes_) ASSAY_RETURN_IF_ERROR(begin_.Await(lane.messages.get()));
  const int steps = lanes_.front().rings.front().place.steps();
  for (int step = 0; step < steps; ++step) {
    for (int message = 0; message < messages_; ++message) {
      for (Lane& lane : lanes_) {
        ASSAY_RETURN_IF_ERROR(EnqueueMessages(&lane, step, message, set));
      }
    }
  }
  for (const Lane& lane : lanes_) {
    ASSAY_RETURN_IF_ERROR(lane.done.Order(lane.messages.get(), stream_.get()));
  }
  return Status::Ok();
}

// Enqueues the transfer of one message on one stream and its addition on another, so that the
// addition overlaps with the transfer of the next message. The next step, which sends the sum,
// first waits for the addition.
Status RingCase::EnqueueMessages(Lane* lane, int step, int message, int64_t set) {
  const int rounds = peers_.world_size() - 1;  // Of the reduce-scatter.
  const CudaEvent& arrived = lane->arrived[static_cast<size_t>(message)];
  const CudaEvent& added = lane->added[static_cast<size_t>(message)];
  cudaStream_t messages = lane->messages.get();
  if (step > 0 && step <= rounds) ASSAY_RETURN_IF_ERROR(added.Await(messages));
  ASSAY_RETURN_IF_ERROR(lane->queue.MakeRoom(*lane->communicator, messages, kPeerTimeout));
  const auto exchange = [&]() -> Status {
    for (const Ring& ring : lane->rings) {
      ASSAY_RETURN_IF_ERROR(SendAndReceive(*lane, ring, step, message, set));
    }
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(lane->communicator->Group(exchange));
  if (step >= rounds) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(arrived.Order(messages, lane->sums.get()));
  for (const Ring& ring : lane->rings) {
    ASSAY_RETURN_IF_ERROR(EnqueueSum(*lane, ring, step, message, set));
  }
  return added.Record(lane->sums.get());
}

// Enqueues the send and the receive of one message in one ring. Skips empty messages. Sender and
// receiver divide chunks in the same way, so both skip the same messages.
Status RingCase::SendAndReceive(const Lane& lane, const Ring& ring, int step, int message,
                                int64_t set) {
  const RingStep now = RingStepOf(ring.place, step);
  const Communicator& communicator = *lane.communicator;
  const auto type = static_cast<ncclDataType_t>(type_.nccl);
  if (const Piece piece = MessageOf(ring, now.send, message); piece.count > 0) {
    const void* from = ElementAt(step == 0 ? InputOf(set) : OutputOf(set), piece.first);
    ASSAY_NCCL(communicator.nccl(),
               send(from, static_cast<size_t>(piece.count), type, ring.place.next(),
                    communicator.get(), lane.messages.get()));
  }
  if (const Piece piece = MessageOf(ring, now.receive, message); piece.count > 0) {
    void* const to =
        now.reduces ? PlaceOf(ring, now.receive, piece) : ElementAt(OutputOf(set), piece.first);
    ASSAY_NCCL(communicator.nccl(),
               recv(to, static_cast<size_t>(piece.count), type, ring.place.previous(),
                    communicator.get(), lane.messages.get()));
  }
  return Status::Ok();
}

Status RingCase::EnqueueSum(const Lane& lane, const Ring& ring, int step, int message,
                            int64_t set) {
  const RingStep now = RingStepOf(ring.place, step);
  const Piece piece = MessageOf(ring, now.receive, message);
  if (piece.count == 0) return Status::Ok();
  return EnqueueAdd(dtype_, ElementAt(InputOf(set), piece.first), PlaceOf(ring, now.receive, piece),
                    ElementAt(OutputOf(set), piece.first), piece.count, kSumBlocks,
                    lane.sums.get());
}

Status RingCase::EnqueueReference(int64_t set) {
  const Communicator& communicator = *lanes_.front().communicator;
  ASSAY_NCCL(communicator.nccl(),
             all_reduce(InputOf(set), reference_.data(), static_cast<size_t>(count_),
                        static_cast<ncclDataType_t>(type_.nccl), ncclSum, communicator.get(),
                        stream_.get()));
  return Status::Ok();
}

Status RingCase::Wait() { return lanes_.front().communicator->Wait(stream_.get(), kPeerTimeout); }

Status RingCase::Run(int64_t samples, int64_t batch, std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  // The timer adds one untimed iteration, in which all ranks wait until the last rank has started.
  ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(samples * batch + 1)));
  return timer_.Time(
      stream_.get(), samples, batch, [this] { return Iterate(); }, [this] { return Wait(); },
      seconds);
}

Result<Verdict> RingCase::Verify() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  const int64_t set = rotation_.After(1);
  ASSAY_ASSIGN_OR_RETURN(Verdict pattern, CheckPattern(set));
  ASSAY_RETURN_IF_ERROR(FillRandomInput(set));
  ASSAY_RETURN_IF_ERROR(SetBytes(received_.data(), 0xff, received_.bytes(), stream_.get()));
  ASSAY_RETURN_IF_ERROR(Poison(set));
  if (in_place_) ASSAY_RETURN_IF_ERROR(EnqueueReference(set));
  ASSAY_RETURN_IF_ERROR(Enqueue(set));
  last_set_ = set;
  ASSAY_ASSIGN_OR_RETURN(Verdict random, CheckRandom(set));
  // All ranks must make the same calls, even if a check fails on only one of them. A failure of the
  // first check is therefore reported only after both checks have run.
  if (!pattern.passed) return pattern;
  random.reference += "; and before, of whole numbers, every element exactly";
  random.elements_checked += pattern.elements_checked;
  return random;
}

// Runs an all-reduce of small whole numbers and checks the sums. Such sums are exact regardless
// of the order of addition, and the expected values are computed without NCCL.
Result<Verdict> RingCase::CheckPattern(int64_t set) {
  const ReducePattern pattern = {type_.type, ReduceOp::kSum, seed_, peers_.world_size()};
  const int64_t first = set * count_;
  ASSAY_RETURN_IF_ERROR(
      FillReduceInput(pattern, peers_.rank(), first, count_, InputOf(set), stream_.get()));
  ASSAY_RETURN_IF_ERROR(Poison(set));
  ASSAY_RETURN_IF_ERROR(Enqueue(set));
  ASSAY_RETURN_IF_ERROR(Wait());
  return CheckReduction(pattern, first, count_, OutputOf(set), stream_.get());
}

// Compares the output with NCCL's result for the same input. For an in-place all-reduce, which
// overwrites its input, the caller must have computed NCCL's result beforehand.
Result<Verdict> RingCase::CheckRandom(int64_t set) {
  if (!in_place_) {
    ASSAY_RETURN_IF_ERROR(SetBytes(reference_.data(), 0xff, bytes_, stream_.get()));
    ASSAY_RETURN_IF_ERROR(EnqueueReference(set));
  }
  ASSAY_RETURN_IF_ERROR(Wait());
  return CompareSums(dtype_, OutputOf(set), reference_.data(), count_, peers_.world_size(),
                     stream_.get());
}

Result<Verdict> RingCase::VerifyLast() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  if (!in_place_) return CheckRandom(last_set_);
  // Checks another run with new input. The output of the timed iterations cannot be checked:
  // repeated in place, an all-reduce adds up its own results until they overflow.
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, Verify());
  verdict.reference += ", after filling the buffer again";
  return verdict;
}

Result<Ceilings> RingCase::MeasureCeilings() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream_.get(), kReferenceSamples, 1, [this] { return EnqueueReference(rotation_.Next()); },
      [this] { return Wait(); }, &seconds));
  const double ranks = peers_.world_size();
  Ceilings ceilings;
  // Uses the median of NCCL's times, because the time of this case is also a median.
  ceilings.link_bytes =
      2 * (ranks - 1) / ranks * static_cast<double>(bytes_) / Summarize(seconds).median;
  return ceilings;
}

Result<std::unique_ptr<Case>> NewRingAllReduceCase(const RunContext& context) {
  return PrepareCase<RingCase>(context);
}

}  // namespace assay
