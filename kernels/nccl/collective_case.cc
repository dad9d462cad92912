#include "kernels/nccl/collective_case.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/units.h"
#include "gang/peers.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/nccl/collective_calls.h"
#include "kernels/nccl/nccl_profiler.h"
#include "kernels/rank_numbers.h"

namespace assay {
namespace {

// The size of an L2 cache line, in bytes. Buffers are aligned to it, so that no two buffers share
// a line.
constexpr int64_t kAlignment = 128;
// The size, in bytes, of the arrays sent to measure the best link bandwidth. On an H200,
// bandwidth keeps increasing with size up to about 2 GiB.
constexpr int64_t kProbeBytes = int64_t{2} << 30;
constexpr int64_t kProbeSamples = 5;
// The shortest sample, in seconds. Two effects would distort shorter samples:
// - Each sample ends with a CUDA event, which delays an H200 by about 1.5 us, or 2% of a 16 MiB
//   collective.
// - Each sample takes as long as its slowest rank, and in short samples that is a different rank
//   every time. With samples of 1 ms, this adds 1% to the time of a 256 MiB collective.
constexpr double kMinSampleSeconds = 10e-3;
// The minimum number of calls to the collective per sample. A single call would be too noisy. For
// example, a reduce_scatter of 8 GiB on two H200s takes 14 ms, and consecutive calls differ by 8%.
constexpr double kMinSampleCalls = 8;
constexpr double kFastBytesPerSecond = 600e9;
// The target duration of one CUDA graph launch, in seconds, long enough to make the launch overhead
// negligible. A graph includes enough iterations to take this long, but usually at most
// kMaxReplays, rounded up to use every set of buffers equally often.
constexpr double kReplaySeconds = 1e-3;
constexpr int64_t kMaxReplays = 64;
// The maximum number of iterations in a CUDA graph, to limit its use of host and GPU memory. If the
// buffers are very small, all data used by a graph may fit in the L2 cache. The result then says
// that its data was cached.
constexpr int64_t kMaxGraphIterations = 1024;
// The settings of nccl-tests that the "nccl_tests" policy copies: the number of iterations per
// timed loop (option -n 20), and the total size of the buffers that the iterations rotate through
// (option -e 256M).
constexpr int64_t kNcclTestsIterations = 20;
constexpr int64_t kNcclTestsBytes = int64_t{256} << 20;
// The number of untimed iterations before a diagnosis, which compares the ranks' times. They bring
// the ranks into step: when the diagnosis begins, all run the same iteration at the same time. The
// timer adds one more untimed iteration.
constexpr int64_t kDiagnosisLead = 7;

// Returns how many timed loops of nccl-tests one sample contains.
int64_t LoopsOf(int64_t batch) { return std::max<int64_t>(batch / kNcclTestsIterations, 1); }

}  // namespace

CollectiveCase::CollectiveCase(const Collective& collective, const RunContext& context)
    : collective_(collective),
      type_(CollectiveTypeOf(Word(context.parameters, "dtype"))),
      op_(CollectiveOpOf(collective.reduces ? Word(context.parameters, "op") : "sum")),
      aggregate_(Integer(context.parameters, "aggregate")),
      in_place_(Word(context.parameters, "in_place") == "true"),
      graph_mode_(Word(context.parameters, "launch") == "graph"),
      as_nccl_tests_(Word(context.parameters, "policy") == "nccl_tests"),
      gpu_(context.gpu),
      nodes_(static_cast<int>(Integer(context.parameters, "nodes"))),
      peers_(*context.peers) {
  reduced_ = {type_.type, op_.op, context.seed, context.world_size};
  moved_ = {context.seed, type_.bytes};
  place_.ranks = context.world_size;
  place_.rank = context.rank;
  place_.root = collective.rooted ? static_cast<int>(Integer(context.parameters, "root")) : 0;
  place_.count =
      CountOf(collective, Integer(context.parameters, "bytes"), type_.bytes, place_.ranks);
}

CollectiveCase::~CollectiveCase() {
  // Leaks the graphs, because destroying them would call into the aborted communicator.
  if (communicator_ == nullptr || !communicator_->aborted()) return;
  captured_.release();
  verified_.release();
}

Status CollectiveCase::Prepare() {
  ASSAY_RETURN_IF_ERROR(Agree(peers_, CheckHardware(), kPeerTimeout));
  const Result<Rotation> plan = PlanOnThisRank();
  ASSAY_RETURN_IF_ERROR(Agree(peers_, plan.status(), kPeerTimeout));
  // All ranks must use the same number of sets, because the pattern of the data depends on the set.
  ASSAY_ASSIGN_OR_RETURN(const int64_t sets, LeastOfRanks(peers_, plan->sets()));
  rotation_ = Rotation(sets);
  ASSAY_RETURN_IF_ERROR(Agree(peers_, AllocateAndFill(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(communicator_, Communicator::Connect(peers_, gpu_, kPeerTimeout));
  return graph_mode_ ? CaptureGraph() : Status::Ok();
}

Status CollectiveCase::CheckHardware() {
  ASSAY_ASSIGN_OR_RETURN(device_, UseGpu(gpu_));
  ASSAY_ASSIGN_OR_RETURN(const NcclLibrary* const nccl, LoadNccl());
  return CheckType(type_, collective_.reduces, *nccl, device_);
}

Result<Rotation> CollectiveCase::PlanOnThisRank() {
  const int64_t input = collective_.input_count(place_);
  const int64_t output = collective_.output_count(place_);
  if (in_place_) {
    const int64_t both = std::max(collective_.input_at(place_) + input,
                                  output == 0 ? 0 : collective_.output_at(place_) + output);
    input_stride_ = AlignUp(BytesOfElements(both), kAlignment);
  } else {
    input_stride_ = AlignUp(BytesOfElements(input), kAlignment);
    output_stride_ = AlignUp(BytesOfElements(output), kAlignment);
  }
  const int64_t set_bytes = aggregate_ * (input_stride_ + output_stride_);
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  const std::string what = std::to_string(aggregate_) + " times input and output of " +
                           ApproximateBytes(input_stride_ + output_stride_);
  ASSAY_ASSIGN_OR_RETURN(const Rotation plan, PlanRotation(!as_nccl_tests_, set_bytes,
                                                           device_.l2_bytes, available, what));
  if (!as_nccl_tests_) return plan;
  // Uses as many sets as a timed loop of nccl-tests, which advances by the larger of the input and
  // output sizes after each iteration, and always starts with the first buffers.
  const int64_t shift = aggregate_ * std::max(input_stride_, output_stride_);
  const int64_t sets = std::clamp<int64_t>(kNcclTestsBytes / shift, 1, kNcclTestsIterations);
  return Rotation(std::clamp<int64_t>(available / set_bytes, 1, sets));
}

Status CollectiveCase::AllocateAndFill() {
  ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
  const int64_t pieces = rotation_.sets() * aggregate_;
  ASSAY_ASSIGN_OR_RETURN(
      memory_, DeviceBuffer::Allocate(pieces * (input_stride_ + output_stride_), "the buffers"));
  for (int64_t set = 0; set < rotation_.sets(); ++set) ASSAY_RETURN_IF_ERROR(Fill(set));
  if (as_nccl_tests_) {
    ASSAY_ASSIGN_OR_RETURN(barrier_, DeviceBuffer::Allocate(sizeof(float), "the barrier"));
    ASSAY_CUDA(cudaMemsetAsync(barrier_.data(), 0, sizeof(float), stream_.get()));
  }
  ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
  return Status::Ok();
}

CollectiveCase::Buffers CollectiveCase::BuffersOf(int64_t set, int64_t piece) const {
  const int64_t number = set * aggregate_ + piece;
  const int64_t outputs = rotation_.sets() * aggregate_ * input_stride_;
  char* const input = static_cast<char*>(memory_.At(number * input_stride_));
  char* const output = static_cast<char*>(memory_.At(outputs + number * output_stride_));
  Buffers buffers;
  buffers.first = number * place_.count * (collective_.divided ? place_.ranks : 1);
  if (in_place_) {
    buffers.input = input + BytesOfElements(collective_.input_at(place_));
    buffers.output = input + BytesOfElements(collective_.output_at(place_));
  } else {
    // NCCL does not accept null pointers.
    buffers.input = input_stride_ > 0 ? input : output;
    buffers.output = output_stride_ > 0 ? output : input;
  }
  return buffers;
}

Status CollectiveCase::Fill(int64_t set) {
  const int64_t count = collective_.input_count(place_);
  for (int64_t piece = 0; piece < (count > 0 ? aggregate_ : 0); ++piece) {
    const Buffers buffers = BuffersOf(set, piece);
    ASSAY_RETURN_IF_ERROR(collective_.reduces
                              ? FillReduceInput(reduced_, place_.rank, buffers.first, count,
                                                buffers.input, stream_.get())
                              : FillMoveInput(moved_, place_.rank, buffers.first, count,
                                              buffers.input, stream_.get()));
  }
  return Status::Ok();
}

Status CollectiveCase::Poison(int64_t set) {
  const int64_t bytes = BytesOfElements(collective_.output_count(place_));
  for (int64_t piece = 0; piece < (bytes > 0 ? aggregate_ : 0); ++piece) {
    ASSAY_RETURN_IF_ERROR(SetBytes(BuffersOf(set, piece).output, 0xff, bytes, stream_.get()));
  }
  return in_place_ ? Fill(set) : Status::Ok();
}

Status CollectiveCase::Enqueue(int64_t set) {
  const auto enqueue = [&](int64_t piece) {
    const Buffers buffers = BuffersOf(set, piece);
    const CollectiveCall call = {place_,         buffers.input,
                                 buffers.output, static_cast<ncclDataType_t>(type_.nccl),
                                 type_.bytes,    op_.nccl};
    return EnqueueCollective(*communicator_, collective_.kind, call, stream_.get());
  };
  if (aggregate_ == 1) return enqueue(0);
  return communicator_->Group([&]() -> Status {
    for (int64_t piece = 0; piece < aggregate_; ++piece) ASSAY_RETURN_IF_ERROR(enqueue(piece));
    return Status::Ok();
  });
}

Status CollectiveCase::MakeRoom() {
  // With the "nccl_tests" policy, the queue needs no limit, because the timed loops are short and
  // leave the stream empty. The events that enforce the limit would disturb the timing.
  if (as_nccl_tests_) return Status::Ok();
  return queue_.MakeRoom(*communicator_, stream_.get(), kPeerTimeout);
}

Status CollectiveCase::Iterate() {
  ASSAY_RETURN_IF_ERROR(MakeRoom());
  ASSAY_RETURN_IF_ERROR(BeforeIteration(stream_.get()));
  last_set_ = rotation_.Next();
  return Enqueue(last_set_);
}

Status CollectiveCase::Launch() {
  if (captured_ == nullptr) return Iterate();
  ASSAY_RETURN_IF_ERROR(MakeRoom());
  last_set_ = captured_last_;
  return captured_->Launch(stream_.get());
}

int64_t CollectiveCase::LastSetAfter(int64_t iterations) const {
  return captured_ != nullptr ? captured_last_ : rotation_.After(iterations);
}

int64_t CollectiveCase::UntimedIterations(int64_t samples, int64_t batch) const {
  return as_nccl_tests_ ? samples * LoopsOf(batch) * launches_ : launches_;
}

int64_t CollectiveCase::BatchGranularity() const {
  return as_nccl_tests_ ? kNcclTestsIterations : launches_;
}

double CollectiveCase::MinSampleSeconds() const {
  if (as_nccl_tests_) return 20e-6;
  return std::max(kMinSampleSeconds,
                  kMinSampleCalls * static_cast<double>(IterationBytes()) / kFastBytesPerSecond);
}

int64_t CollectiveCase::IterationBytes() const {
  return aggregate_ * PayloadBytes(collective_, place_.count, type_.bytes, place_.ranks);
}

Status CollectiveCase::Wait(Communicator::Polling polling) {
  return communicator_->Wait(stream_.get(), kPeerTimeout, polling);
}

Status CollectiveCase::CaptureGraph() {
  std::vector<double> seconds;
  // Besides measuring the time, this first iteration connects the ranks and loads the kernels,
  // neither of which may happen while a CUDA graph is being captured.
  const Status timed = timer_.Time(
      stream_.get(), 1, 1, [this] { return Iterate(); }, [this] { return Wait(); }, &seconds);
  ASSAY_RETURN_IF_ERROR(Agree(peers_, timed, kPeerTimeout));
  const double fitting = std::ceil(kReplaySeconds / std::max(seconds.front(), 1e-9));
  ASSAY_ASSIGN_OR_RETURN(
      const int64_t least,
      LeastOfRanks(peers_, std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e9)), 1,
                                               kMaxReplays)));
  const int64_t sets = rotation_.sets();
  launches_ = sets >= kMaxGraphIterations ? kMaxGraphIterations : (least + sets - 1) / sets * sets;
  // A graph uses each set of buffers once, so that the result of a replay can be checked.
  if (!Repeatable()) launches_ = std::min(sets, kMaxGraphIterations);
  if (as_nccl_tests_) launches_ = kNcclTestsIterations;
  // An in-place reduction overwrites its input. If a graph uses the same buffers more than once, it
  // reduces its own results, and the expected values are unknown. In that case, verifies a separate
  // graph of a single iteration instead.
  if (!Repeatable() && launches_ > sets) {
    ASSAY_ASSIGN_OR_RETURN(verified_, Capture(1));
    verified_set_ = rotation_.last();
  }
  ASSAY_ASSIGN_OR_RETURN(captured_, Capture(launches_));
  captured_last_ = rotation_.last();
  return Status::Ok();
}

Result<std::unique_ptr<CudaGraph>> CollectiveCase::Capture(int64_t iterations) {
  auto captured = CudaGraph::Capture(stream_.get(), [&]() -> Status {
    for (int64_t i = 0; i < iterations; ++i) {
      ASSAY_RETURN_IF_ERROR(BeforeIteration(stream_.get()));
      ASSAY_RETURN_IF_ERROR(Enqueue(rotation_.Next()));
    }
    return Status::Ok();
  });
  ASSAY_RETURN_IF_ERROR(Agree(peers_, captured.status(), kPeerTimeout));
  return std::make_unique<CudaGraph>(std::move(captured).value());
}

Timing CollectiveCase::HowTimed() const {
  const int64_t used =
      captured_ != nullptr ? std::min(rotation_.sets(), launches_) : rotation_.sets();
  const bool cold = used * aggregate_ * (input_stride_ + output_stride_) >= 2 * device_.l2_bytes;
  const char* const clock = graph_mode_ ? "graph" : "events";
  return {cold ? "cold" : "hot", "random", as_nccl_tests_ ? "nccl_tests" : clock};
}

Result<Verdict> CollectiveCase::Verify() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  const int64_t set = verified_ != nullptr ? verified_set_ : LastSetAfter(launches_);
  ASSAY_RETURN_IF_ERROR(Poison(set));
  ASSAY_RETURN_IF_ERROR(verified_ != nullptr ? verified_->Launch(stream_.get()) : Launch());
  last_set_ = set;
  return Check(set);
}

Status CollectiveCase::Run(int64_t samples, int64_t batch, std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  const int64_t launches = batch / launches_;
  if (as_nccl_tests_) {
    return TimeAsNcclTests(samples, LoopsOf(batch), seconds);
  }
  // The timer adds one untimed launch, in which all ranks wait until the last rank has started.
  if (Repeatable()) {
    ASSAY_RETURN_IF_ERROR(Poison(LastSetAfter((samples * launches + 1) * launches_)));
  }
  const size_t before = seconds->size();
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream_.get(), samples, launches, [this] { return Launch(); }, [this] { return Wait(); },
      seconds));
  for (size_t i = before; i < seconds->size(); ++i) {
    (*seconds)[i] /= static_cast<double>(launches_);
  }
  return Status::Ok();
}

Status CollectiveCase::LineUp() {
  CollectiveCall call;
  call.place = place_;
  call.place.count = 1;
  call.input = call.output = barrier_.data();
  ASSAY_RETURN_IF_ERROR(
      EnqueueCollective(*communicator_, CollectiveKind::kAllReduce, call, stream_.get()));
  return Wait(Communicator::Polling::kSpin);
}

Status CollectiveCase::TimeAsNcclTests(int64_t samples, int64_t loops,
                                       std::vector<double>* seconds) {
  const int64_t launches = kNcclTestsIterations / launches_;
  if (Repeatable()) {
    ASSAY_RETURN_IF_ERROR(Poison(LastSetAfter(samples * loops * (launches + 1) * launches_)));
  }
  std::vector<double> mine;
  const auto loop = [&]() -> Status {
    ASSAY_RETURN_IF_ERROR(Launch());
    ASSAY_RETURN_IF_ERROR(LineUp());
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < launches; ++i) ASSAY_RETURN_IF_ERROR(Launch());
    ASSAY_RETURN_IF_ERROR(Wait(Communicator::Polling::kSpin));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    mine.back() += took.count() / static_cast<double>(loops * kNcclTestsIterations);
    return Status::Ok();
  };
  const auto all_loops = [&]() -> Status {
    for (int64_t sample = 0; sample < samples; ++sample) {
      mine.push_back(0);
      for (int64_t i = 0; i < loops; ++i) ASSAY_RETURN_IF_ERROR(loop());
    }
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(Agree(peers_, all_loops(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<double> mean, MeanOfRanks(peers_, mine));
  seconds->insert(seconds->end(), mean.begin(), mean.end());
  return Status::Ok();
}

Result<Verdict> CollectiveCase::VerifyLast() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  if (Repeatable()) return Check(last_set_);
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, Verify());
  verdict.reference += ", after filling the buffer again";
  return verdict;
}

Result<Verdict> CollectiveCase::CheckBlock(const OutputBlock& block, const Buffers& buffers) {
  const void* data = static_cast<const char*>(buffers.output) + BytesOfElements(block.first);
  const int64_t first = buffers.first + block.source_first;
  if (block.source == kAllRanks) {
    return CheckReduction(reduced_, first, block.count, data, stream_.get());
  }
  return CheckMoved(moved_, block.source, first, block.count, data, stream_.get());
}

Result<Verdict> CollectiveCase::Check(int64_t set) {
  ASSAY_RETURN_IF_ERROR(Wait());
  Verdict all;
  all.passed = true;
  all.reference = "exact pattern, every element";
  all.norm = "mismatches";
  for (int64_t piece = 0; piece < aggregate_; ++piece) {
    const Buffers buffers = BuffersOf(set, piece);
    for (const OutputBlock& block : collective_.output(place_)) {
      ASSAY_ASSIGN_OR_RETURN(const Verdict one, CheckBlock(block, buffers));
      all.reference = one.reference;
      all.error += one.error;
      all.elements_checked += one.elements_checked;
      if (one.passed) continue;
      all.passed = false;
      if (!all.detail.empty()) continue;
      all.detail = "from element " + std::to_string(block.first) + " on, " + one.detail;
      if (aggregate_ > 1) all.detail = "collective " + std::to_string(piece) + ": " + all.detail;
    }
  }
  return all;
}

OutputRange CollectiveCase::LastOutput() {
  return {BuffersOf(last_set_, 0).output, BytesOfElements(collective_.output_count(place_))};
}

Status CollectiveCase::TimeInside(int64_t iterations, std::vector<double>* seconds) {
  for (int64_t i = 0; i < kDiagnosisLead; ++i) ASSAY_RETURN_IF_ERROR(Iterate());
  const auto before = [this]() -> Status {
    ASSAY_RETURN_IF_ERROR(queue_.MakeRoom(*communicator_, stream_.get(), kPeerTimeout));
    return BeforeIteration(stream_.get());
  };
  return timer_.TimeApart(
      stream_.get(), iterations, 1, before, [this] { return Enqueue(rotation_.Next()); },
      [this] { return Wait(); }, seconds);
}

Result<Diagnosis> CollectiveCase::Diagnose(int64_t iterations) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  Diagnosis diagnosis;
  diagnosis.mutual = collective_.mutual;
  StartNcclProfiler();
  const Status timed = TimeInside(iterations, &diagnosis.inside);
  const std::optional<NcclChoice> choice = StopNcclProfiler();
  ASSAY_RETURN_IF_ERROR(timed);
  if (!choice) return diagnosis;
  diagnosis.choice = {choice->algorithm, choice->protocol, choice->channels, "NCCL profiler", 0};
  diagnosis.choice->wire_bytes =
      static_cast<double>(IterationBytes()) *
      WireFactor(collective_, choice->algorithm, choice->protocol, place_.ranks);
  return diagnosis;
}

// Measures the link bandwidth between the ranks with both an all-reduce and a broadcast, and
// returns the higher value. On two H200s, the broadcast is 8% faster because it does no reduction.
Result<Ceilings> CollectiveCase::MeasureCeilings() {
  if (nodes_ > 1) return Ceilings();  // Over a network it would take too long.
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  ASSAY_ASSIGN_OR_RETURN(const int64_t least, LeastOfRanks(peers_, available));
  if (least < kProbeBytes) return Ceilings();
  auto buffer = DeviceBuffer::Allocate(kProbeBytes, "the probe of the links");
  ASSAY_RETURN_IF_ERROR(Agree(peers_, buffer.status(), kPeerTimeout));
  ASSAY_RETURN_IF_ERROR(SetBytes(buffer->data(), 0, kProbeBytes, stream_.get()));
  ASSAY_ASSIGN_OR_RETURN(const double reduced, Probe(CollectiveKind::kAllReduce, buffer->data()));
  ASSAY_ASSIGN_OR_RETURN(const double moved, Probe(CollectiveKind::kBroadcast, buffer->data()));
  Ceilings ceilings;
  ceilings.link_bytes = std::max(reduced, moved);
  return ceilings;
}

Result<double> CollectiveCase::Probe(CollectiveKind kind, void* buffer) {
  CollectiveCall call;
  call.place = place_;
  call.place.count = kProbeBytes / call.element_bytes;
  call.input = call.output = buffer;
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream_.get(), kProbeSamples, 1,
      [&] { return EnqueueCollective(*communicator_, kind, call, stream_.get()); },
      [this] { return Wait(); }, &seconds));
  return CollectiveOf(kind).bus_factor(place_.ranks) * static_cast<double>(kProbeBytes) /
         *std::min_element(seconds.begin(), seconds.end());
}

// Defines the functions, named in benchmarks.inc, that create a case of each collective.
#define ASSAY_COLLECTIVE(name)                                                          \
  Result<std::unique_ptr<Case>> New##name##Case(const RunContext& context) {            \
    return PrepareCase<CollectiveCase>(CollectiveOf(CollectiveKind::k##name), context); \
  }
ASSAY_COLLECTIVE(AllReduce)
ASSAY_COLLECTIVE(AllGather)
ASSAY_COLLECTIVE(ReduceScatter)
ASSAY_COLLECTIVE(Broadcast)
ASSAY_COLLECTIVE(Reduce)
ASSAY_COLLECTIVE(AllToAll)
ASSAY_COLLECTIVE(Gather)
ASSAY_COLLECTIVE(Scatter)
ASSAY_COLLECTIVE(SendRecv)
#undef ASSAY_COLLECTIVE

}  // namespace assay
