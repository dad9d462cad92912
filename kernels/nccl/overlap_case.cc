#include "kernels/nccl/overlap_case.h"

#include <algorithm>
#include <cmath>

#include "gang/peers.h"
#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/rotation.h"
#include "kernels/cuda/gemm/gemm_case.h"
#include "kernels/nccl/collective_calls.h"
#include "kernels/nccl/nccl_profiler.h"
#include "kernels/rank_numbers.h"

namespace assay {
namespace {

// The minimum duration, in seconds, of the matrix multiplications and of the collective. Shorter
// work is repeated up to kMaxRepeats times. When both run at once, they start a few microseconds
// apart, and this delay should be negligible.
constexpr double kLeastSeconds = 1e-3;
constexpr double kMaxRepeats = 128;
constexpr int kBalanceRuns = 5;

CollectiveKind KindOf(const std::string& word) {
  if (word == "all_gather") return CollectiveKind::kAllGather;
  if (word == "reduce_scatter") return CollectiveKind::kReduceScatter;
  return CollectiveKind::kAllReduce;
}

int64_t Repeats(double wanted, double one) {
  return static_cast<int64_t>(std::clamp(std::round(wanted / one), 1.0, kMaxRepeats));
}

}  // namespace

const Collective& OverlapCollectiveOf(const ParameterMap& parameters) {
  return CollectiveOf(KindOf(Word(parameters, "collective")));
}

double OverlapTimes::together() const { return std::max(gemm_beside, collective_beside); }

double OverlapTimes::overlap_fraction() const {
  return (gemm_alone + collective_alone - together()) / std::min(gemm_alone, collective_alone);
}

OverlapCase::OverlapCase(const RunContext& context)
    : shape_(OverlapShapeOf(context.parameters)),
      collective_(OverlapCollectiveOf(context.parameters)),
      ctas_(static_cast<int>(Integer(context.parameters, "ctas"))),
      seed_(context.seed),
      gpu_(context.gpu),
      peers_(*context.peers) {
  place_.ranks = context.world_size;
  place_.rank = context.rank;
  place_.count = CountOf(collective_, Integer(context.parameters, "bytes"), kOverlapElementBytes,
                         place_.ranks);
  reduced_ = {ReduceType::kBfloat16, ReduceOp::kSum, seed_, place_.ranks};
  moved_ = {seed_, kOverlapElementBytes};
}

OverlapCase::~OverlapCase() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

Status OverlapCase::Prepare() {
  ASSAY_RETURN_IF_ERROR(Agree(peers_, AllocateOnThisRank(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(communicator_, Communicator::Connect(peers_, gpu_, kPeerTimeout, ctas_));
  const Result<std::vector<double>> timed = TimeOneOfEach();
  ASSAY_RETURN_IF_ERROR(Agree(peers_, timed.status(), kPeerTimeout));
  // All ranks must repeat the work the same number of times, so the repetition counts are computed
  // from the slowest rank's times.
  ASSAY_ASSIGN_OR_RETURN(const std::vector<double> slowest, LargestOfRanks(peers_, *timed));
  Balance(slowest[0], slowest[1]);
  return Status::Ok();
}

Status OverlapCase::AllocateOnThisRank() {
  ASSAY_ASSIGN_OR_RETURN(device_, UseGpu(gpu_));
  ASSAY_RETURN_IF_ERROR(LoadNccl().status());
  ASSAY_ASSIGN_OR_RETURN(gemm_stream_, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::CreateUrgent());
  ASSAY_ASSIGN_OR_RETURN(order_, CudaEvent::Create());
  ASSAY_ASSIGN_OR_RETURN(gemm_, LtGemm::Create(shape_));
  ASSAY_ASSIGN_OR_RETURN(a_, DeviceBuffer::Allocate(shape_.ABytes(), "A"));
  ASSAY_ASSIGN_OR_RETURN(b_, DeviceBuffer::Allocate(shape_.BBytes(), "B"));
  ASSAY_ASSIGN_OR_RETURN(d_, DeviceBuffer::Allocate(shape_.DBytes(), "D"));
  const int64_t input = collective_.input_count(place_) * kOverlapElementBytes;
  ASSAY_ASSIGN_OR_RETURN(input_, DeviceBuffer::Allocate(input, "the collective's input"));
  ASSAY_ASSIGN_OR_RETURN(output_, DeviceBuffer::Allocate(OutputBytes(), "its output"));
  ASSAY_ASSIGN_OR_RETURN(meeting_, DeviceBuffer::Allocate(sizeof(float), "a meeting of ranks"));
  ASSAY_RETURN_IF_ERROR(FillInputs());
  return gemm_->Tune([this] { return Operands(); }, "random", gemm_stream_.get()).status();
}

Status OverlapCase::FillInputs() {
  ASSAY_RETURN_IF_ERROR(
      FillGemmInputs(shape_, Inputs(), 0, a_.data(), b_.data(), gemm_stream_.get()));
  const int64_t count = collective_.input_count(place_);
  ASSAY_RETURN_IF_ERROR(
      collective_.reduces
          ? FillReduceInput(reduced_, place_.rank, 0, count, input_.data(), gemm_stream_.get())
          : FillMoveInput(moved_, place_.rank, 0, count, input_.data(), gemm_stream_.get()));
  ASSAY_CUDA(cudaMemsetAsync(meeting_.data(), 0, sizeof(float), gemm_stream_.get()));
  ASSAY_CUDA(cudaStreamSynchronize(gemm_stream_.get()));
  return Status::Ok();
}

Result<std::vector<double>> OverlapCase::TimeOneOfEach() {
  ASSAY_RETURN_IF_ERROR(MakeEvents(1));
  ASSAY_ASSIGN_OR_RETURN(const double gemm,
                         TimeOne(gemm_stream_.get(), [this] { return EnqueueGemms(1); }));
  ASSAY_RETURN_IF_ERROR(Meet());
  ASSAY_ASSIGN_OR_RETURN(const double collective,
                         TimeOne(stream_.get(), [this] { return EnqueueCollectives(1); }));
  return std::vector<double>{gemm, collective};
}

void OverlapCase::Balance(double gemm, double collective) {
  collectives_ = Repeats(std::max({gemm, collective, kLeastSeconds}), collective);
  gemms_ = Repeats(collective * static_cast<double>(collectives_), gemm);
}

// Returns the mean time, in seconds, that the work enqueued by `enqueue` takes, over several runs
// after a warm-up run.
Result<double> OverlapCase::TimeOne(cudaStream_t stream, const std::function<Status()>& enqueue) {
  ASSAY_RETURN_IF_ERROR(enqueue());
  ASSAY_CUDA(cudaEventRecord(events_[kBegin], stream));
  for (int i = 0; i < kBalanceRuns; ++i) ASSAY_RETURN_IF_ERROR(enqueue());
  ASSAY_CUDA(cudaEventRecord(events_[kEnd], stream));
  ASSAY_RETURN_IF_ERROR(communicator_->Wait(stream, kPeerTimeout));
  float milliseconds = 0;
  ASSAY_CUDA(cudaEventElapsedTime(&milliseconds, events_[kBegin], events_[kEnd]));
  return std::max(milliseconds * 1e-3 / kBalanceRuns, 1e-6);
}

Timing OverlapCase::HowTimed() const {
  const int64_t bytes =
      shape_.ABytes() + shape_.BBytes() + shape_.DBytes() + input_.bytes() + output_.bytes();
  return {bytes >= 2 * device_.l2_bytes ? "cold" : "hot", "random", "events"};
}

void OverlapCase::AdjustRule(MeasureRule* rule) const {
  AdjustRuleForLoad(shape_.Flops() * static_cast<double>(gemms_), rule);
}

Status OverlapCase::MakeEvents(int64_t iterations) {
  while (events_.size() < static_cast<size_t>(iterations * kMarks)) {
    cudaEvent_t event = nullptr;
    ASSAY_CUDA(cudaEventCreate(&event));
    events_.push_back(event);
  }
  return Status::Ok();
}

Status OverlapCase::EnqueueGemms(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    ASSAY_RETURN_IF_ERROR(gemm_queue_.MakeRoom(*communicator_, gemm_stream_.get(), kPeerTimeout));
    ASSAY_RETURN_IF_ERROR(gemm_->Enqueue(Operands(), gemm_stream_.get()));
  }
  return Status::Ok();
}

Status OverlapCase::EnqueueCollectives(int64_t count) {
  const CollectiveCall call = {place_,       input_.data(),        output_.data(),
                               ncclBfloat16, kOverlapElementBytes, ncclSum};
  for (int64_t i = 0; i < count; ++i) {
    ASSAY_RETURN_IF_ERROR(queue_.MakeRoom(*communicator_, stream_.get(), kPeerTimeout));
    ASSAY_RETURN_IF_ERROR(EnqueueCollective(*communicator_, collective_.kind, call, stream_.get()));
  }
  return Status::Ok();
}

Status OverlapCase::Meet() {
  ASSAY_NCCL(communicator_->nccl(), all_reduce(meeting_.data(), meeting_.data(), 1, ncclFloat,
                                               ncclSum, communicator_->get(), stream_.get()));
  return Status::Ok();
}

Status OverlapCase::EnqueueAlone(Marks marks) {
  ASSAY_CUDA(cudaEventRecord(marks[kGemmBegin], gemm_stream_.get()));
  ASSAY_RETURN_IF_ERROR(EnqueueGemms(gemms_));
  ASSAY_CUDA(cudaEventRecord(marks[kGemmEnd], gemm_stream_.get()));
  ASSAY_RETURN_IF_ERROR(order_.Order(gemm_stream_.get(), stream_.get()));
  ASSAY_RETURN_IF_ERROR(Meet());
  ASSAY_CUDA(cudaEventRecord(marks[kBegin], stream_.get()));
  ASSAY_RETURN_IF_ERROR(EnqueueCollectives(collectives_));
  ASSAY_CUDA(cudaEventRecord(marks[kEnd], stream_.get()));
  return Status::Ok();
}

// Enqueues the collective before the matrix multiplications, so that the collective's kernel
// finds free multiprocessors. The multiplications use the rest, as in a training step that
// overlaps computation with communication.
Status OverlapCase::EnqueueTogether(Marks marks) {
  ASSAY_RETURN_IF_ERROR(Meet());
  ASSAY_CUDA(cudaEventRecord(marks[kBothBegin], stream_.get()));
  ASSAY_RETURN_IF_ERROR(order_.Order(stream_.get(), gemm_stream_.get()));
  ASSAY_RETURN_IF_ERROR(EnqueueCollectives(collectives_));
  ASSAY_CUDA(cudaEventRecord(marks[kBothEnd], stream_.get()));
  ASSAY_RETURN_IF_ERROR(EnqueueGemms(gemms_));
  ASSAY_CUDA(cudaEventRecord(marks[kBothGemmEnd], gemm_stream_.get()));
  // Makes both streams wait for each other, so that the next phase starts when both have ended.
  ASSAY_RETURN_IF_ERROR(order_.Order(gemm_stream_.get(), stream_.get()));
  return order_.Order(stream_.get(), gemm_stream_.get());
}

Status OverlapCase::EnqueueIterations(int64_t iterations) {
  ASSAY_RETURN_IF_ERROR(MakeEvents(iterations + 1));
  // The first iteration is extra. It waits until all ranks have started, so its times are not used.
  for (int64_t i = 0; i <= iterations; ++i) {
    const Marks marks = &events_[static_cast<size_t>(i * kMarks)];
    ASSAY_RETURN_IF_ERROR(EnqueueAlone(marks));
    ASSAY_RETURN_IF_ERROR(EnqueueTogether(marks));
  }
  return Wait();
}

Status OverlapCase::Wait() { return communicator_->Wait(stream_.get(), kPeerTimeout); }

Result<std::vector<double>> OverlapCase::TimeIterations(int64_t samples, int64_t batch) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_RETURN_IF_ERROR(Poison());
  ASSAY_RETURN_IF_ERROR(EnqueueIterations(samples * batch));
  std::vector<double> seconds(static_cast<size_t>(samples) * kSpans.size(), 0.0);
  for (int64_t i = 0; i < samples * batch; ++i) {
    const Marks marks = &events_[static_cast<size_t>((i + 1) * kMarks)];
    for (size_t span = 0; span < kSpans.size(); ++span) {
      float milliseconds = 0;
      ASSAY_CUDA(
          cudaEventElapsedTime(&milliseconds, marks[kSpans[span].begin], marks[kSpans[span].end]));
      seconds[static_cast<size_t>(i / batch) * kSpans.size() + span] +=
          milliseconds * 1e-3 / static_cast<double>(batch);
    }
  }
  return seconds;
}

Status OverlapCase::Run(int64_t samples, int64_t batch, std::vector<double>* seconds) {
  const Result<std::vector<double>> mine = TimeIterations(samples, batch);
  ASSAY_RETURN_IF_ERROR(Agree(peers_, mine.status(), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<double> all, LargestOfRanks(peers_, *mine));
  for (size_t i = 0; i < all.size(); i += kSpans.size()) {
    times_.push_back({all[i], all[i + 1], all[i + 2], all[i + 3]});
    seconds->push_back(times_.back().together());
  }
  return Status::Ok();
}

std::vector<double> OverlapCase::Observed(const std::string& name) const {
  const auto value = [&](const OverlapTimes& times) {
    if (name == "overlap_fraction") return times.overlap_fraction();
    if (name == "gemm_slowdown") return times.gemm_beside / times.gemm_alone;
    if (name == "collective_slowdown") return times.collective_beside / times.collective_alone;
    if (name == "gemm_alone") return times.gemm_alone;
    if (name == "collective_alone") return times.collective_alone;
    if (name == "gemms") return static_cast<double>(gemms_);
    return static_cast<double>(collectives_);
  };
  std::vector<double> values;
  for (const OverlapTimes& times : times_) values.push_back(value(times));
  return values;
}

Status OverlapCase::Poison() {
  ASSAY_CUDA(cudaMemsetAsync(d_.data(), 0xff, static_cast<size_t>(d_.bytes()), stream_.get()));
  ASSAY_CUDA(
      cudaMemsetAsync(output_.data(), 0xff, static_cast<size_t>(output_.bytes()), stream_.get()));
  return order_.Order(stream_.get(), gemm_stream_.get());
}

Result<Verdict> OverlapCase::Verify() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_RETURN_IF_ERROR(MakeEvents(1));
  ASSAY_RETURN_IF_ERROR(Poison());
  ASSAY_RETURN_IF_ERROR(EnqueueTogether(events_.data()));
  ASSAY_RETURN_IF_ERROR(Wait());
  return Check();
}

// Checks the outputs of the multiplications and of the collective, which ran at the same time.
Result<Verdict> OverlapCase::Check() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_ASSIGN_OR_RETURN(Verdict gemm,
                         CheckGemm(shape_, Inputs(), 0, Operands(), gemm_stream_.get()));
  ASSAY_ASSIGN_OR_RETURN(Verdict collective, CheckCollective());
  if (!collective.passed) {
    collective.detail = std::string(collective_.name) + ": " + collective.detail;
    return gemm.passed ? collective : gemm;
  }
  gemm.reference += "; " + std::string(collective_.name) + ": exact pattern, every element";
  gemm.elements_checked += collective.elements_checked;
  return gemm;
}

Result<Verdict> OverlapCase::CheckCollective() {
  Verdict all;
  all.passed = true;
  all.norm = "mismatches";
  for (const OutputBlock& block : collective_.output(place_)) {
    const void* data = output_.At(block.first * kOverlapElementBytes);
    const Result<Verdict> checked =
        block.source == kAllRanks
            ? CheckReduction(reduced_, block.source_first, block.count, data, stream_.get())
            : CheckMoved(moved_, block.source, block.source_first, block.count, data,
                         stream_.get());
    ASSAY_RETURN_IF_ERROR(checked.status());
    all.reference = checked->reference;
    all.error += checked->error;
    all.elements_checked += checked->elements_checked;
    if (checked->passed) continue;
    all.passed = false;
    if (!all.detail.empty()) continue;
    all.detail = "from element " + std::to_string(block.first) + " on, " + checked->detail;
  }
  return all;
}

Result<Diagnosis> OverlapCase::Diagnose(int64_t) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  StartNcclProfiler();
  Status ran = EnqueueCollectives(1);
  if (ran.ok()) ran = Wait();
  const std::optional<NcclChoice> choice = StopNcclProfiler();
  ASSAY_RETURN_IF_ERROR(ran);
  Diagnosis diagnosis;
  if (choice) {
    diagnosis.choice = {choice->algorithm, choice->protocol, choice->channels, "NCCL profiler", 0};
  }
  return diagnosis;
}

Result<std::unique_ptr<Case>> NewOverlapCase(const RunContext& context) {
  return PrepareCase<OverlapCase>(context);
}

}  // namespace assay
