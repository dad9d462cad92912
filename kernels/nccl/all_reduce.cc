// all_reduce: NCCL's ncclAllReduce, one process a rank, every element verified.
//
// Counted for S bytes on n ranks: algorithm bandwidth S / t, bus bandwidth
// 2 (n - 1) / n x S / t, which is what each rank must at least send (nccl-tests,
// doc/PERFORMANCE.md).
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/event_timer.h"
#include "kernels/cuda/rotation.h"
#include "kernels/nccl/communicator.h"
#include "kernels/nccl/nccl.h"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;
// A whole L2 line, so that no line belongs to two buffers.
constexpr int64_t kAlignment = 128;
// What the ceiling is probed with: on an H200, bandwidth grows until about 2 GiB.
constexpr int64_t kProbeBytes = int64_t{2} << 30;
constexpr int64_t kProbeSamples = 5;

struct TypeName {
  const char* name;
  ReduceType type;
  ncclDataType_t nccl;
};
constexpr std::array<TypeName, 8> kTypes = {{
    {"fp32", ReduceType::kFloat32, ncclFloat32},
    {"fp16", ReduceType::kFloat16, ncclFloat16},
    {"bf16", ReduceType::kBfloat16, ncclBfloat16},
    {"fp64", ReduceType::kFloat64, ncclFloat64},
    {"int8", ReduceType::kInt8, ncclInt8},
    {"uint8", ReduceType::kUint8, ncclUint8},
    {"int32", ReduceType::kInt32, ncclInt32},
    {"int64", ReduceType::kInt64, ncclInt64},
}};

struct OpName {
  const char* name;
  ReduceOp op;
  ncclRedOp_t nccl;
};
constexpr std::array<OpName, 4> kOps = {{
    {"sum", ReduceOp::kSum, ncclSum},
    {"prod", ReduceOp::kProd, ncclProd},
    {"min", ReduceOp::kMin, ncclMin},
    {"max", ReduceOp::kMax, ncclMax},
}};

template <typename Table>
const auto& EntryOf(const Table& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found != table.end() ? *found : table.front();
}

template <typename Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

// The least of all ranks' numbers, at every rank.
Result<int64_t> LeastOf(Peers& peers, int64_t mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(peers, bytes, kPeerTimeout));
  for (const std::string& theirs : all) {
    int64_t number = 0;
    if (theirs.size() != sizeof number) return Internal("a rank sent an unreadable number");
    std::memcpy(&number, theirs.data(), sizeof number);
    mine = std::min(mine, number);
  }
  return mine;
}

class AllReduceCase : public Case {
 public:
  explicit AllReduceCase(const RunContext& context)
      : type_(EntryOf(kTypes, Word(context.parameters, "dtype"))),
        op_(EntryOf(kOps, Word(context.parameters, "op"))),
        bytes_(Integer(context.parameters, "bytes")),
        in_place_(Word(context.parameters, "in_place") == "true"),
        rank_(context.rank),
        gpu_(context.gpu),
        peers_(*context.peers) {
    pattern_.type = type_.type;
    pattern_.op = op_.op;
    pattern_.seed = context.seed;
    pattern_.world_size = context.world_size;
  }

  Status Prepare() {
    stride_ = AlignUp(bytes_, kAlignment);
    const Result<Rotation> plan = PlanOnThisRank();
    ASSAY_RETURN_IF_ERROR(Agree(peers_, plan.status(), kPeerTimeout));
    // The set is part of the pattern, so all ranks rotate alike.
    ASSAY_ASSIGN_OR_RETURN(const int64_t sets, LeastOf(peers_, plan->sets()));
    rotation_ = Rotation(sets);
    ASSAY_RETURN_IF_ERROR(Agree(peers_, AllocateAndFill(), kPeerTimeout));
    ASSAY_ASSIGN_OR_RETURN(communicator_, Communicator::Connect(peers_, gpu_, kPeerTimeout));
    return Status::Ok();
  }

  Timing HowTimed() const override { return {"cold", "random", "events"}; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    const int64_t set = rotation_.After(1);
    ASSAY_RETURN_IF_ERROR(in_place_ ? Fill(set) : Poison(set));
    ASSAY_RETURN_IF_ERROR(Iterate());
    return CheckLast();
  }

  int64_t LeadIterations() const override { return 1; }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    // The timer adds an untimed iteration, in which ranks also wait for the latest.
    if (!in_place_) ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(samples * batch + 1)));
    return timer_.Time(
        stream_.get(), samples, batch, [this] { return Iterate(); },
        [this] { return communicator_->Wait(stream_.get(), kPeerTimeout); }, seconds);
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    if (!in_place_) return CheckLast();
    // Reducing its own results over and over, a sum leaves every type's range: what
    // can be checked is one more iteration on new inputs.
    ASSAY_ASSIGN_OR_RETURN(Verdict verdict, Verify());
    verdict.reference += ", after filling the buffer again";
    return verdict;
  }

  Result<Ceilings> MeasureCeilings() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
    ASSAY_ASSIGN_OR_RETURN(const int64_t least, LeastOf(peers_, available));
    if (least < kProbeBytes) return Ceilings();
    auto buffer = DeviceBuffer::Allocate(kProbeBytes, "the all-reduce probe");
    ASSAY_RETURN_IF_ERROR(Agree(peers_, buffer.status(), kPeerTimeout));
    ASSAY_CUDA(cudaMemsetAsync(buffer->data(), 0, kProbeBytes, stream_.get()));
    std::vector<double> seconds;
    const auto reduce = [&] { return Enqueue(buffer->data(), buffer->data(), kProbeBytes); };
    const auto wait = [&] { return communicator_->Wait(stream_.get(), kPeerTimeout); };
    ASSAY_RETURN_IF_ERROR(timer_.Time(stream_.get(), kProbeSamples, 1, reduce, wait, &seconds));
    Ceilings ceilings;
    ceilings.link_bytes = BusFactor(pattern_.world_size) * static_cast<double>(kProbeBytes) /
                          *std::min_element(seconds.begin(), seconds.end());
    return ceilings;
  }

  static double BusFactor(int world_size) { return 2.0 * (world_size - 1) / world_size; }

 private:
  Result<Rotation> PlanOnThisRank() {
    ASSAY_ASSIGN_OR_RETURN(const GpuDevice device, UseGpu(gpu_));
    ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
    return PlanRotation(true, BuffersASet() * stride_, device.l2_bytes, available,
                        std::to_string(BuffersASet()) + " buffers of " + ApproximateBytes(bytes_));
  }

  Status AllocateAndFill() {
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    const int64_t bytes = rotation_.sets() * stride_;
    ASSAY_ASSIGN_OR_RETURN(inputs_, DeviceBuffer::Allocate(bytes, "the inputs"));
    if (!in_place_) {
      ASSAY_ASSIGN_OR_RETURN(outputs_, DeviceBuffer::Allocate(bytes, "the outputs"));
    }
    for (int64_t set = 0; set < rotation_.sets(); ++set) ASSAY_RETURN_IF_ERROR(Fill(set));
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return Status::Ok();
  }

  int64_t BuffersASet() const { return in_place_ ? 1 : 2; }
  int64_t Count() const { return bytes_ / BytesOf(type_.type); }
  void* InputOf(int64_t set) const { return inputs_.At(set * stride_); }
  void* OutputOf(int64_t set) const {
    return in_place_ ? InputOf(set) : outputs_.At(set * stride_);
  }

  Status Fill(int64_t set) {
    return FillReduceInput(pattern_, rank_, set * Count(), Count(), InputOf(set), stream_.get());
  }

  // Every byte 0xff: NaN, or a number that no reduction of the pattern gives.
  Status Poison(int64_t set) {
    ASSAY_CUDA(cudaMemsetAsync(OutputOf(set), 0xff, static_cast<size_t>(bytes_), stream_.get()));
    return Status::Ok();
  }

  Status Iterate() {
    const int64_t set = rotation_.Next();
    return Enqueue(InputOf(set), OutputOf(set), bytes_);
  }

  Status Enqueue(const void* input, void* output, int64_t bytes) {
    ASSAY_NCCL(communicator_->nccl(),
               all_reduce(input, output, static_cast<size_t>(bytes / BytesOf(type_.type)),
                          type_.nccl, op_.nccl, communicator_->get(), stream_.get()));
    return Status::Ok();
  }

  Result<Verdict> CheckLast() {
    ASSAY_RETURN_IF_ERROR(communicator_->Wait(stream_.get(), kPeerTimeout));
    const int64_t set = rotation_.last();
    return CheckReduction(pattern_, set * Count(), Count(), OutputOf(set), stream_.get());
  }

  const TypeName& type_;
  const OpName& op_;
  const int64_t bytes_;
  const bool in_place_;
  const int rank_;
  const int gpu_;
  Peers& peers_;
  ReducePattern pattern_;
  int64_t stride_ = 0;  // Bytes from one set's buffer to the next.
  CudaStream stream_;
  DeviceBuffer inputs_;
  DeviceBuffer outputs_;  // Empty if in place.
  Rotation rotation_;
  EventTimer timer_;
  std::unique_ptr<Communicator> communicator_;
};

class AllReduce : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override {
    static const BenchmarkInfo info = MakeInfo();
    return info;
  }

  std::string UnsupportedReason() const override {
    if (std::string why = WhyNoGpu(); !why.empty()) return why;
    const Result<const NcclLibrary*> nccl = LoadNccl();
    return nccl.ok() ? "" : nccl.status().message();
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const override {
    const std::string& dtype = Word(parameters, "dtype");
    const int64_t bytes = Integer(parameters, "bytes");
    const int64_t element = BytesOf(EntryOf(kTypes, dtype).type);
    if (bytes % element != 0) {
      return InvalidArgument("bytes is " + std::to_string(bytes) + "; it must be a multiple of " +
                             std::to_string(element) + ", the size of an element of " + dtype);
    }
    Work work;
    work.payload_bytes = static_cast<double>(bytes);
    work.link_bytes = AllReduceCase::BusFactor(world_size) * work.payload_bytes;
    // NCCL's own model of a ring with the LL protocol over NVLink (src/graph/tuning.cc):
    // 6.6 us and 0.6 us for each of 2 (n - 1) steps.
    work.fixed_seconds = 6.6e-6 + 2 * (world_size - 1) * 0.6e-6;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    ASSAY_RETURN_IF_ERROR(WorkOf(context.parameters, context.world_size).status());
    if (context.peers == nullptr) {
      return InvalidArgument("all_reduce needs at least 2 ranks; this run has " +
                             std::to_string(context.world_size));
    }
    auto prepared = std::make_unique<AllReduceCase>(context);
    ASSAY_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  static BenchmarkInfo MakeInfo() {
    BenchmarkInfo info;
    info.name = "all_reduce";
    info.summary = "NCCL's all-reduce between the GPUs of a node, one process a rank";
    info.resource = Resource::kGpu;
    info.collective = true;
    info.parameters = {
        {"ranks",
         ParameterType::kInteger,
         "processes, each with a GPU of its own",
         {},
         2,
         kMaxReduceRanks,
         {}},
        {"bytes",
         ParameterType::kBytes,
         "size of each rank's buffer, a multiple of the element's size",
         "1073741824",
         1,
         kMaxBytes,
         {}},
        {"dtype", ParameterType::kWord, "type of the elements", "fp32", {}, {}, NamesOf(kTypes)},
        {"op", ParameterType::kWord, "how elements are reduced", "sum", {}, {}, NamesOf(kOps)},
        {"in_place", ParameterType::kBoolean, "write over the input", "false", {}, {}, {}},
    };
    info.selftest_parameters = {{"ranks", "2"}, {"bytes", "1048580"}};
    info.metrics = {{"bus_bandwidth", "GB/s", Direction::kHigherIsBetter,
                     "2 (n - 1) / n x bytes a second: what each rank sends at least",
                     Quantity::kLinkBytes, 1e-9},
                    {"algorithm_bandwidth", "GB/s", Direction::kHigherIsBetter, "bytes a second",
                     Quantity::kPayloadBytes, 1e-9},
                    TimeMetric()};
    info.model =
        "link bytes = 2 (n - 1) / n x bytes; time = link bytes / NVLink bandwidth + 6.6 us + "
        "2 (n - 1) x 0.6 us";
    return info;
  }
};

}  // namespace

std::unique_ptr<Benchmark> NewAllReduce() { return std::make_unique<AllReduce>(); }

}  // namespace assay
