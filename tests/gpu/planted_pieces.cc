// Checks of outputs, each by itself: GEMM, STREAM's loops, reductions; and what does not
// fit into memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/byte_pattern.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/lt_gemm.h"
#include "kernels/cuda/rotation.h"
#include "kernels/cuda/stream_kernels.h"
#include "kernels/nccl/reduce_pattern.h"
#include "tests/gpu/plant.h"
#include "tests/gpu/planted_faults.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;
// Writes `bytes` bytes of 0xff (NaN) at `data`.
Status PlantNan(void* data, size_t bytes) {
  ASSAY_CUDA(cudaMemset(data, 0xff, bytes));
  ASSAY_CUDA(cudaDeviceSynchronize());
  return Status::Ok();
}

// One multiplication whose output is tampered with.
class GemmFaults {
 public:
  GemmFaults(const GemmShape& shape, bool zeros, std::string name)
      : shape_(shape), name_(std::move(name)) {
    inputs_.seed = kSeed;
    inputs_.zeros = zeros;
  }

  Status Run() {
    ASSAY_RETURN_IF_ERROR(Multiply());
    Expect(name_ + ": right", Check(), true);
    const std::vector<unsigned char> nan(Size(), 0xff);
    const int64_t elements = shape_.batch * shape_.m * shape_.n;
    for (const int64_t at : {int64_t{0}, elements / 2, elements - 1}) {
      const Plant plant(Element(at), nan);
      Expect(name_ + ": NaN in element " + std::to_string(at), Check(), false);
    }
    ASSAY_RETURN_IF_ERROR(WrongRow());
    WrongElement();
    // The last tile of the output was never written.
    const auto width = static_cast<size_t>(std::min<int64_t>(shape_.n, 64) * Bytes());
    const int64_t rows = shape_.batch * shape_.m;
    for (int64_t row = std::max<int64_t>(0, rows - 64); row < rows; ++row) {
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
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, inputs_, 0, a_.data(), b_.data(), stream_.get()));
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

  // One that is off by far more than rounding.
  void WrongElement() {
    const std::vector<unsigned char> wrong(Size(), 0x45);
    const Plant plant(Element(std::min(shape_.n * 3 + 5, shape_.m * shape_.n - 1)), wrong);
    Expect(name_ + ": one wrong element", Check(), false);
  }

  // Of an element of D.
  int64_t Bytes() const { return shape_.OutputBytes(); }
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

// Large enough for Freivalds' method, in every storage order of operands.
Status TestLargeGemm() {
  constexpr int64_t kSide = 16384;
  const std::vector<std::pair<const char*, GemmShape>> shapes = {
      {"bf16 nn", {GemmType::kBf16, kSide, kSide, kSide, false, false}},
      {"bf16 tt", {GemmType::kBf16, kSide, kSide, kSide / 2, true, true}},
      {"fp32 nn", {GemmType::kFp32, kSide, kSide, kSide, false, false}},
      {"fp8_e4m3 nt", {GemmType::kFp8E4m3, kSide, kSide, kSide, false, true}},
      {"int8 nt", {GemmType::kInt8, kSide, kSide, kSide / 2, false, true}}};
  for (const auto& [name, shape] : shapes) {
    ASSAY_RETURN_IF_ERROR(GemmFaults(shape, false, std::string("gemm large ") + name).Run());
  }
  return Status::Ok();
}

Status TestGemm() {
  struct Type {
    const char* name;
    GemmType type;
    std::vector<const char*> layouts;
  };
  const std::vector<const char*> all = {"nn", "nt", "tn", "tt"};
  const std::vector<Type> types = {
      {"fp32", GemmType::kFp32, all},           {"tf32", GemmType::kTf32, all},
      {"bf16", GemmType::kBf16, all},           {"fp16", GemmType::kFp16, all},
      {"fp64", GemmType::kFp64, all},           {"fp8_e4m3", GemmType::kFp8E4m3, {"nt"}},
      {"fp8_e5m2", GemmType::kFp8E5m2, {"nt"}}, {"int8", GemmType::kInt8, {"nt"}}};
  for (const Type& type : types) {
    for (const char* layout : type.layouts) {
      GemmShape shape{type.type, 1000, 528, 1040, layout[0] == 't', layout[1] == 't'};
      const std::string name = std::string("gemm ") + type.name + " " + layout;
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, false, name).Run());
      shape.batch = 3;
      shape.fast_accumulation = shape.IsFp8();
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, false, name + " x 3").Run());
    }
  }
  ASSAY_RETURN_IF_ERROR(
      GemmFaults({GemmType::kBf16, 1000, 520, 1032}, true, "gemm bf16 zeros").Run());
  ASSAY_RETURN_IF_ERROR(GemmFaults({GemmType::kBf16, 1, 1, 1}, false, "gemm bf16 1x1x1").Run());
  return TestLargeGemm();
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
  for (const ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAvg}) {
    const ReducePattern pattern{ReduceType::kFloat32, op, kSeed, 3};
    std::vector<float> result;
    for (int rank = 0; rank < pattern.world_size; ++rank) {
      std::vector<float> input(kCount);
      ASSAY_RETURN_IF_ERROR(FillReduceInput(pattern, rank, 0, kCount, memory.data(), stream.get()));
      ASSAY_CUDA(cudaStreamSynchronize(stream.get()));
      ASSAY_CUDA(cudaMemcpy(input.data(), memory.data(), kCount * 4, cudaMemcpyDefault));
      if (rank == 0) result = input;
      for (size_t i = 0; rank > 0 && i < input.size(); ++i) {
        if (op == ReduceOp::kSum || op == ReduceOp::kAvg) result[i] += input[i];
        if (op == ReduceOp::kProd) result[i] *= input[i];
        if (op == ReduceOp::kMin) result[i] = std::fmin(result[i], input[i]);
        if (op == ReduceOp::kMax) result[i] = std::fmax(result[i], input[i]);
      }
    }
    for (size_t i = 0; op == ReduceOp::kAvg && i < result.size(); ++i) {
      result[i] /= static_cast<float>(pattern.world_size);
    }
    const std::string name = "three ranks, op " + std::to_string(static_cast<int>(op));
    ASSAY_CUDA(WriteToGpu(memory.data(), result.data(), kCount * 4));
    Expect(name + ": right", CheckReduction(pattern, 0, kCount, memory.data(), stream.get()), true);
    result[12345] += 1;
    ASSAY_CUDA(WriteToGpu(memory.data(), result.data(), kCount * 4));
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
  std::printf("too much memory: %s\ntoo much memory: %s\n", plan.status().ToString().c_str(),
              buffer.status().ToString().c_str());
  if (!refused || allocated) Fail("too much memory");
}

// What transfers check: a wrong byte anywhere, bytes that never came, another direction's.
Status TestTransfer() {
  constexpr int64_t kBytes = 100003;
  const BytePattern pattern = {kSeed, 1};
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer data, DeviceBuffer::Allocate(kBytes + 8, "bytes"));
  ASSAY_RETURN_IF_ERROR(FillBytes(pattern, data.data(), kBytes, stream.get()));
  const auto check = [&](const BytePattern& expected) {
    return CheckBytes(expected, data.data(), kBytes, stream.get());
  };
  Expect("bytes: right", check(pattern), true);
  for (const int64_t at : {int64_t{0}, kBytes / 2 + 1, kBytes - 1}) {
    unsigned char byte = 0;
    ASSAY_CUDA(cudaMemcpy(&byte, data.At(at), 1, cudaMemcpyDefault));
    const Plant plant(data.At(at), {static_cast<unsigned char>(byte ^ 1)});
    Expect("bytes: a bit of byte " + std::to_string(at), check(pattern), false);
  }
  Expect("bytes: of the other direction", check({kSeed, 2}), false);
  ASSAY_RETURN_IF_ERROR(PlantNan(data.At(kBytes - 3), 3));
  Expect("bytes: the last three never came", check(pattern), false);
  return Status::Ok();
}

}  // namespace

void TestPieces() {
  TestMemory();
  for (const auto test : {TestStream, TestReduction, TestGemm, TestTransfer}) {
    const Status status = test();
    if (!status.ok()) Fail(status.ToString());
  }
}

}  // namespace assay
