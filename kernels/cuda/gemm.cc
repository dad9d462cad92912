// gemm: D = op(A) op(B) by cuBLASLt, with the fastest of its heuristics' algorithms.
//
// Counted: 2 m n k FLOPs; each of A, B and D once through memory. Cold: every
// iteration multiplies the next of several sets of A, B and D.
#include <string>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/event_timer.h"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/lt_gemm.h"
#include "kernels/cuda/probe.h"
#include "kernels/cuda/rotation.h"

namespace assay {
namespace {

constexpr int64_t kMaxSide = 1 << 20;
// What a kernel launch costs at least, in a stream that is kept full.
constexpr double kLaunchSeconds = 2.5e-6;

GemmType TypeOf(const ParameterMap& parameters) {
  const std::string& dtype = Word(parameters, "dtype");
  if (dtype == "fp32") return GemmType::kFp32;
  if (dtype == "tf32") return GemmType::kTf32;
  if (dtype == "fp16") return GemmType::kFp16;
  return GemmType::kBf16;
}

GemmShape ShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = TypeOf(parameters);
  shape.m = Integer(parameters, "m");
  shape.n = Integer(parameters, "n");
  shape.k = Integer(parameters, "k");
  const std::string& layout = Word(parameters, "layout");
  shape.a_transposed = layout[0] == 't';
  shape.b_transposed = layout[1] == 't';
  return shape;
}

class GemmCase : public Case {
 public:
  explicit GemmCase(const RunContext& context)
      : shape_(ShapeOf(context.parameters)),
        cold_(Word(context.parameters, "cache") == "cold"),
        gpu_(context.gpu) {
    inputs_.seed = context.seed;
    inputs_.zeros = Word(context.parameters, "fill") == "zeros";
  }

  Status Prepare() {
    ASSAY_ASSIGN_OR_RETURN(const GpuDevice device, UseGpu(gpu_));
    if (device.compute_major < 8 &&
        (shape_.type == GemmType::kBf16 || shape_.type == GemmType::kTf32)) {
      return Unsupported("bf16 and tf32 need compute capability 8.0; this GPU has " +
                         std::to_string(device.compute_major) + "." +
                         std::to_string(device.compute_minor));
    }
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    // First, so that its workspace is out of the memory that is left for matrices.
    ASSAY_ASSIGN_OR_RETURN(gemm_, LtGemm::Create(shape_));
    ASSAY_RETURN_IF_ERROR(Allocate(device.l2_bytes));
    ASSAY_RETURN_IF_ERROR(
        FillGemmInputs(shape_, inputs_, rotation_.sets(), a_.data(), b_.data(), stream_.get()));
    return gemm_->Tune([this] { return OperandsOf(rotation_.Next()); }, stream_.get());
  }

  Timing HowTimed() const override {
    return {cold_ ? "cold" : "hot", inputs_.zeros ? "zeros" : "random", "events"};
  }

  // At the power limit, clocks follow the load over seconds, and every pause between
  // chunks of samples lets them rise again.
  void AdjustRule(MeasureRule* rule) const override {
    if (!shape_.IsSustained()) return;
    rule->min_warmup_seconds = 2.0;
    rule->max_warmup_seconds = 5.0;
    rule->settle_window_seconds = 0.25;
    rule->min_seconds = 1.0;
  }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(1)));
    ASSAY_RETURN_IF_ERROR(Iterate());
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    // The timer adds an untimed iteration.
    ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(samples * batch + 1)));
    return timer_.Time(
        stream_.get(), samples, batch, [this] { return Iterate(); }, seconds);
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    return CheckGemm(shape_, inputs_, rotation_.last(), OperandsOf(rotation_.last()),
                     stream_.get());
  }

  Result<Ceilings> MeasureCeilings() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    Ceilings ceilings;
    ASSAY_ASSIGN_OR_RETURN(ceilings.bytes, ProbeCopyBandwidth(stream_.get()));
    ASSAY_ASSIGN_OR_RETURN(ceilings.flops, ProbeGemmFlops(shape_.type, inputs_, stream_.get()));
    return ceilings;
  }

 private:
  Status Allocate(int64_t l2_bytes) {
    stride_a_ = AlignUp(shape_.ABytes(), kGemmAlignment);
    stride_b_ = AlignUp(shape_.BBytes(), kGemmAlignment);
    stride_d_ = AlignUp(shape_.DBytes(), kGemmAlignment);
    inputs_.stride_a = stride_a_ / shape_.ElementBytes();
    inputs_.stride_b = stride_b_ / shape_.ElementBytes();
    ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
    ASSAY_ASSIGN_OR_RETURN(
        rotation_, PlanRotation(cold_, stride_a_ + stride_b_ + stride_d_, l2_bytes, available,
                                "A, B and D of " + std::to_string(shape_.m) + " x " +
                                    std::to_string(shape_.n) + " x " + std::to_string(shape_.k)));
    const int64_t sets = rotation_.sets();
    ASSAY_ASSIGN_OR_RETURN(a_, DeviceBuffer::Allocate(sets * stride_a_, "A"));
    ASSAY_ASSIGN_OR_RETURN(b_, DeviceBuffer::Allocate(sets * stride_b_, "B"));
    ASSAY_ASSIGN_OR_RETURN(d_, DeviceBuffer::Allocate(sets * stride_d_, "D"));
    return Status::Ok();
  }

  GemmOperands OperandsOf(int64_t set) const {
    return {a_.At(set * stride_a_), b_.At(set * stride_b_), d_.At(set * stride_d_)};
  }

  // Every byte 0xff is NaN in all of the types.
  Status Poison(int64_t set) {
    ASSAY_CUDA(cudaMemsetAsync(d_.At(set * stride_d_), 0xff, static_cast<size_t>(shape_.DBytes()),
                               stream_.get()));
    return Status::Ok();
  }

  Status Iterate() { return gemm_->Enqueue(OperandsOf(rotation_.Next()), stream_.get()); }

  const GemmShape shape_;
  const bool cold_;
  const int gpu_;
  GemmInputs inputs_;
  CudaStream stream_;
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer d_;
  int64_t stride_a_ = 0;  // Bytes from one set's A to the next.
  int64_t stride_b_ = 0;
  int64_t stride_d_ = 0;
  Rotation rotation_;
  EventTimer timer_;
  std::unique_ptr<LtGemm> gemm_;
};

class Gemm : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override {
    static const BenchmarkInfo info = MakeInfo();
    return info;
  }

  std::string UnsupportedReason() const override {
    if (std::string why = WhyNoGpu(); !why.empty()) return why;
    const Result<const CublasLt*> lt = LoadCublasLt();
    return lt.ok() ? "" : lt.status().message();
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const GemmShape shape = ShapeOf(parameters);
    Work work;
    work.flops = shape.Flops();
    work.bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes());
    const std::string& dtype = Word(parameters, "dtype");
    work.peak = dtype == "fp16" ? "bf16" : dtype;
    work.fixed_seconds = kLaunchSeconds;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    auto prepared = std::make_unique<GemmCase>(context);
    ASSAY_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  static BenchmarkInfo MakeInfo() {
    BenchmarkInfo info;
    info.name = "gemm";
    info.summary = "dense matrix multiplication by cuBLASLt, the best of its heuristics";
    info.resource = Resource::kGpu;
    info.parameters = {
        {"m", ParameterType::kInteger, "rows of the output", {}, 1, kMaxSide, {}},
        {"n", ParameterType::kInteger, "columns of the output", {}, 1, kMaxSide, {}},
        {"k", ParameterType::kInteger, "length of the dot products", {}, 1, kMaxSide, {}},
        {"dtype",
         ParameterType::kWord,
         "type of inputs and output; tf32 is fp32 on tensor cores",
         "bf16",
         {},
         {},
         {"fp32", "tf32", "bf16", "fp16"}},
        {"layout",
         ParameterType::kWord,
         "how A (m x k) and B (k x n) are stored, row-major: n as they are, t transposed; nn is "
         "torch.matmul(a, b), nt is torch.nn.functional.linear(a, b)",
         "nn",
         {},
         {},
         {"nn", "nt", "tn", "tt"}},
        {"fill",
         ParameterType::kWord,
         "input values: random (near-normal, variance 1) or zeros",
         "random",
         {},
         {},
         {"random", "zeros"}},
        {"cache",
         ParameterType::kWord,
         "cold: rotate over 2x the L2 cache; hot: reuse one set of matrices",
         "cold",
         {},
         {},
         {"cold", "hot"}},
    };
    info.selftest_parameters = {{"m", "520"}, {"n", "264"}, {"k", "1032"}};
    info.selftest_parameters = {{"m", "520"}, {"n", "264"}, {"k", "1032"}};
    info.metrics = {{"tflops", "TFLOP/s", Direction::kHigherIsBetter,
                     "multiplications and additions a second", Quantity::kFlops, 1e-12},
                    TimeMetric()};
    info.model =
        "FLOPs = 2 m n k; bytes = (m k + k n + m n) x element size; "
        "time = max(FLOPs / peak, bytes / bandwidth) + 2.5 us";
    return info;
  }
};

}  // namespace

std::unique_ptr<Benchmark> NewGemm() { return std::make_unique<Gemm>(); }

}  // namespace assay
