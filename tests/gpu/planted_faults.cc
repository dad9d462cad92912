// Wrong outputs that a verification must find: a program of its own, so that nothing
// in the benchmarks can plant a fault. Exit code 77: no GPU, nothing tested.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/lt_gemm.h"
#include "kernels/cuda/rotation.h"
#include "kernels/cuda/stream_kernels.h"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;
int failures = 0;

// Prints and counts one expectation.
void Expect(const std::string& what, const Result<Verdict>& verdict, bool passes) {
  const bool as_expected = verdict.ok() && verdict->passed == passes &&
                           verdict->detail.empty() == passes && !verdict->reference.empty();
  if (!as_expected) ++failures;
  std::printf("%-4s %-58s %s\n", as_expected ? "ok" : "FAIL", what.c_str(),
              !verdict.ok() ? verdict.status().ToString().c_str() : verdict->detail.c_str());
}

// Writes `bytes` bytes of 0xff (NaN) at `data`.
Status PlantNan(void* data, size_t bytes) {
  ASSAY_CUDA(cudaMemset(data, 0xff, bytes));
  ASSAY_CUDA(cudaDeviceSynchronize());
  return Status::Ok();
}

// Bytes of the device, set to others for the time of a check.
class Plant {
 public:
  Plant(void* at, const std::vector<unsigned char>& bytes) : at_(at), saved_(bytes.size()) {
    cudaMemcpy(saved_.data(), at_, saved_.size(), cudaMemcpyDefault);
    cudaMemcpy(at_, bytes.data(), bytes.size(), cudaMemcpyDefault);
  }
  ~Plant() { cudaMemcpy(at_, saved_.data(), saved_.size(), cudaMemcpyDefault); }
  Plant(const Plant&) = delete;
  Plant& operator=(const Plant&) = delete;

 private:
  void* at_;
  std::vector<unsigned char> saved_;
};

// One multiplication whose output is tampered with.
class GemmFaults {
 public:
  GemmFaults(GemmShape shape, bool zeros, std::string name)
      : shape_(shape), name_(std::move(name)) {
    inputs_.seed = kSeed;
    inputs_.zeros = zeros;
  }

  Status Run() {
    ASSAY_RETURN_IF_ERROR(Multiply());
    Expect(name_ + ": right", Check(), true);
    const std::vector<unsigned char> nan(Size(), 0xff);
    for (const int64_t at : {int64_t{0}, shape_.m * shape_.n / 2, shape_.m * shape_.n - 1}) {
      const Plant plant(Element(at), nan);
      Expect(name_ + ": NaN in element " + std::to_string(at), Check(), false);
    }
    ASSAY_RETURN_IF_ERROR(WrongRow());
    if (shape_.Flops() < 2e12) {
      // Off by far more than rounding, and not by much.
      const std::vector<unsigned char> wrong(Size(), 0x45);
      const Plant plant(Element(std::min(shape_.n * 3 + 5, shape_.m * shape_.n - 1)), wrong);
      Expect(name_ + ": one wrong element", Check(), false);
    }
    // The last tile of the output was never written.
    const auto width = static_cast<size_t>(std::min<int64_t>(shape_.n, 64) * Bytes());
    for (int64_t row = std::max<int64_t>(0, shape_.m - 64); row < shape_.m; ++row) {
      ASSAY_RETURN_IF_ERROR(
          PlantNan(Element(row * shape_.n + shape_.n - std::min<int64_t>(shape_.n, 64)), width));
    }
    Expect(name_ + ": last tile unwritten", Check(), false);
    return Status::Ok();
  }

 private:
  Status Multiply() {
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(a_, DeviceBuffer::Allocate(shape_.ABytes(), "A"));
    ASSAY_ASSIGN_OR_RETURN(b_, DeviceBuffer::Allocate(shape_.BBytes(), "B"));
    ASSAY_ASSIGN_OR_RETURN(d_, DeviceBuffer::Allocate(shape_.DBytes(), "D"));
    ASSAY_RETURN_IF_ERROR(PlantNan(d_.data(), static_cast<size_t>(shape_.DBytes())));
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, inputs_, 1, a_.data(), b_.data(), stream_.get()));
    ASSAY_ASSIGN_OR_RETURN(const auto gemm, LtGemm::Create(shape_));
    ASSAY_RETURN_IF_ERROR(gemm->Enqueue(Operands(), stream_.get()));
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return Status::Ok();
  }

  // A row that belongs elsewhere: each value plausible, none right.
  Status WrongRow() {
    if (inputs_.zeros || shape_.m < 4) return Status::Ok();
    const auto bytes = static_cast<size_t>(shape_.n * Bytes());
    std::vector<unsigned char> other(bytes);
    ASSAY_CUDA(cudaMemcpy(other.data(), Element(0), bytes, cudaMemcpyDefault));
    const Plant plant(Element(2 * shape_.n), other);
    Expect(name_ + ": row 2 is row 0", Check(), false);
    return Status::Ok();
  }

  int64_t Bytes() const { return shape_.ElementBytes(); }
  size_t Size() const { return static_cast<size_t>(Bytes()); }
  void* Element(int64_t at) const { return d_.At(at * Bytes()); }
  GemmOperands Operands() const { return {a_.data(), b_.data(), d_.data()}; }
  Result<Verdict> Check() { return CheckGemm(shape_, inputs_, 0, Operands(), stream_.get()); }

  const GemmShape shape_;
  const std::string name_;
  GemmInputs inputs_;
  CudaStream stream_;
  DeviceBuffer a_, b_, d_;
};

Status TestGemm() {
  struct Type {
    const char* name;
    GemmType type;
  };
  for (const Type& type : {Type{"fp32", GemmType::kFp32}, Type{"tf32", GemmType::kTf32},
                           Type{"bf16", GemmType::kBf16}, Type{"fp16", GemmType::kFp16}}) {
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      const GemmShape shape{type.type, 1000, 520, 1032, layout[0] == 't', layout[1] == 't'};
      ASSAY_RETURN_IF_ERROR(
          GemmFaults(shape, false, std::string("gemm ") + type.name + " " + layout).Run());
    }
  }
  ASSAY_RETURN_IF_ERROR(
      GemmFaults({GemmType::kBf16, 1000, 520, 1032}, true, "gemm bf16 zeros").Run());
  ASSAY_RETURN_IF_ERROR(GemmFaults({GemmType::kBf16, 1, 1, 1}, false, "gemm bf16 1x1x1").Run());
  // Large enough for Freivalds' method, in both storage orders.
  for (const bool transposed : {false, true}) {
    const GemmShape shape{GemmType::kBf16, 16384, 16384, 8192, transposed, transposed};
    ASSAY_RETURN_IF_ERROR(
        GemmFaults(shape, false, transposed ? "gemm bf16 large tt" : "gemm bf16 large nn").Run());
  }
  return Status::Ok();
}

Status TestStream() {
  constexpr int64_t kElements = (1 << 20) + 3;
  const int64_t stride = AlignUp(kElements * 4, 128);
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory, DeviceBuffer::Allocate(3 * stride, "arrays"));
  const StreamInputs inputs{kSeed, 5, false};
  const StreamInputs others{kSeed, 4, false};
  for (const StreamOp op : {StreamOp::kCopy, StreamOp::kScale, StreamOp::kAdd, StreamOp::kTriad,
                            StreamOp::kRead, StreamOp::kWrite, StreamOp::kMemset}) {
    const StreamArrays arrays{memory.as<float>(), static_cast<float*>(memory.At(stride)),
                              static_cast<float*>(memory.At(2 * stride)), kElements};
    const int64_t outputs = OutputElements(op, kElements);
    const std::string name = "stream op " + std::to_string(static_cast<int>(op));
    ASSAY_RETURN_IF_ERROR(PlantNan(arrays.out, static_cast<size_t>(outputs) * 4));
    Expect(name + ": unwritten", CheckStream(op, arrays, inputs, stream.get()), false);
    ASSAY_RETURN_IF_ERROR(FillStream(arrays, inputs, stream.get()));
    ASSAY_RETURN_IF_ERROR(EnqueueStream(op, arrays, inputs, stream.get()));
    Expect(name + ": right", CheckStream(op, arrays, inputs, stream.get()), true);
    Expect(name + ": of another set", CheckStream(op, arrays, others, stream.get()), false);
    const Plant plant(arrays.out + outputs - 1, {0, 0, 0, 0x40});
    Expect(name + ": last element wrong", CheckStream(op, arrays, inputs, stream.get()), false);
  }
  return Status::Ok();
}

Status TestReduction() {
  constexpr int64_t kCount = 100003;
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory, DeviceBuffer::Allocate(kCount * 8, "elements"));
  // Of one rank, the reduction is its input.
  for (int type = 0; type <= static_cast<int>(ReduceType::kInt64); ++type) {
    const ReducePattern pattern{static_cast<ReduceType>(type), ReduceOp::kSum, kSeed, 1};
    const std::string name = "reduction of type " + std::to_string(type);
    const int64_t bytes = BytesOf(pattern.type);
    const auto check = [&] {
      return CheckReduction(pattern, 11, kCount, memory.data(), stream.get());
    };
    ASSAY_RETURN_IF_ERROR(PlantNan(memory.data(), static_cast<size_t>(kCount * bytes)));
    Expect(name + ": unwritten", check(), false);
    ASSAY_RETURN_IF_ERROR(FillReduceInput(pattern, 0, 11, kCount, memory.data(), stream.get()));
    Expect(name + ": right", check(), true);
    ASSAY_RETURN_IF_ERROR(PlantNan(memory.At((kCount - 1) * bytes), static_cast<size_t>(bytes)));
    Expect(name + ": last element wrong", check(), false);
  }
  // Of three ranks, made on the host.
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax}) {
    const ReducePattern pattern{ReduceType::kFloat32, op, kSeed, 3};
    std::vector<float> result;
    for (int rank = 0; rank < pattern.world_size; ++rank) {
      std::vector<float> input(kCount);
      ASSAY_RETURN_IF_ERROR(FillReduceInput(pattern, rank, 0, kCount, memory.data(), stream.get()));
      ASSAY_CUDA(cudaStreamSynchronize(stream.get()));
      ASSAY_CUDA(cudaMemcpy(input.data(), memory.data(), kCount * 4, cudaMemcpyDefault));
      if (rank == 0) result = input;
      for (size_t i = 0; rank > 0 && i < input.size(); ++i) {
        if (op == ReduceOp::kSum) result[i] += input[i];
        if (op == ReduceOp::kProd) result[i] *= input[i];
        if (op == ReduceOp::kMin) result[i] = std::fmin(result[i], input[i]);
        if (op == ReduceOp::kMax) result[i] = std::fmax(result[i], input[i]);
      }
    }
    const std::string name = "three ranks, op " + std::to_string(static_cast<int>(op));
    ASSAY_CUDA(cudaMemcpy(memory.data(), result.data(), kCount * 4, cudaMemcpyDefault));
    Expect(name + ": right", CheckReduction(pattern, 0, kCount, memory.data(), stream.get()), true);
    result[12345] += 1;
    ASSAY_CUDA(cudaMemcpy(memory.data(), result.data(), kCount * 4, cudaMemcpyDefault));
    Expect(name + ": off by one", CheckReduction(pattern, 0, kCount, memory.data(), stream.get()),
           false);
  }
  return Status::Ok();
}

// What does not fit is refused with what would.
void TestMemory() {
  const auto plan = PlanRotation(true, int64_t{1} << 40, 60 << 20, int64_t{100} << 30, "A case");
  const bool refused = !plan.ok() && plan.status().code() == Code::kResourceExhausted &&
                       plan.status().message().find("100.0 GiB") != std::string::npos &&
                       !plan.status().hint().empty();
  const auto buffer = DeviceBuffer::Allocate(int64_t{1} << 50, "a test");
  const bool allocated = buffer.ok() || buffer.status().code() != Code::kResourceExhausted;
  failures += (refused ? 0 : 1) + (allocated ? 1 : 0);
  std::printf("%-4s too much memory: %s\n", refused ? "ok" : "FAIL",
              plan.status().ToString().c_str());
  std::printf("%-4s too much memory: %s\n", allocated ? "FAIL" : "ok",
              buffer.status().ToString().c_str());
}

int Main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // What came before a crash is read.
  if (const std::string why = WhyNoGpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  TestMemory();
  for (const auto test : {TestStream, TestReduction, TestGemm}) {
    const Status status = test();
    if (status.ok()) continue;
    ++failures;
    std::printf("FAIL %s\n", status.ToString().c_str());
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main() { return assay::Main(); }
