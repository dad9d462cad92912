#include "kernels/cuda/frame/probe.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "kernels/cuda/memory/stream_kernels.h"

namespace assay {
namespace {

constexpr int64_t kMemoryBytes = int64_t{1} << 30;
// Enough samples, of about 0.5 ms, to outlast a short disturbance.
constexpr int64_t kMemorySamples = 100;

// Durations, in seconds, of the warm-up and of each sample when timing a matrix multiplication.
// The warm-up lets the GPU's power consumption settle. Samples are long enough for the clocks to
// respond to the load. Only the fastest sample counts.
constexpr double kWarmupSeconds = 0.15;
constexpr double kSampleSeconds = 0.01;
constexpr int64_t kGemmSamples = 25;

using Iterate = std::function<Status()>;

// Returns the best time of `samples` samples, because a ceiling is what the device can reach.
Result<double> BestSeconds(int64_t samples, int64_t batch, cudaStream_t stream,
                           const Iterate& iterate) {
  EventTimer timer;
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer.Time(stream, samples, batch, iterate, &seconds));
  return *std::min_element(seconds.begin(), seconds.end());
}

Result<double> SustainedSeconds(cudaStream_t stream, const Iterate& iterate) {
  ASSAY_ASSIGN_OR_RETURN(const double first, BestSeconds(1, 1, stream, iterate));
  const auto warmup = std::max<int64_t>(1, static_cast<int64_t>(kWarmupSeconds / first));
  ASSAY_RETURN_IF_ERROR(BestSeconds(1, warmup, stream, iterate).status());
  const auto batch = std::max<int64_t>(1, static_cast<int64_t>(kSampleSeconds / first));
  return BestSeconds(kGemmSamples, batch, stream, iterate);
}

// Returns the bytes per second that cudaMemcpyAsync reads and writes within GPU memory.
Result<double> MemcpyBytesPerSecond(cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(2 * kMemoryBytes, "the copy probe"));
  const auto copy = [&]() -> Status {
    ASSAY_CUDA(cudaMemcpyAsync(buffer.At(kMemoryBytes), buffer.data(), kMemoryBytes,
                               cudaMemcpyDeviceToDevice, stream));
    return Status::Ok();
  };
  ASSAY_ASSIGN_OR_RETURN(const double seconds, BestSeconds(kMemorySamples, 1, stream, copy));
  return 2 * static_cast<double>(kMemoryBytes) / seconds;
}

// Returns the bytes per second that a kernel of the stream benchmarks reaches.
Result<double> StreamBytesPerSecond(StreamOp op, cudaStream_t stream) {
  const StreamInputs inputs = {1, 0, false};
  StreamArrays arrays;
  arrays.elements = kMemoryBytes / static_cast<int64_t>(sizeof(float));
  const int64_t output_bytes =
      OutputElements(op, arrays.elements) * static_cast<int64_t>(sizeof(float));
  const int64_t input_bytes = InputsOf(op) * kMemoryBytes;
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(input_bytes + output_bytes, "the memory probe"));
  if (input_bytes > 0) arrays.b = buffer.as<float>();
  arrays.out = static_cast<float*>(buffer.At(input_bytes));
  ASSAY_RETURN_IF_ERROR(FillStream(arrays, inputs, stream));
  const auto iterate = [&] { return EnqueueStream(op, arrays, inputs, stream); };
  ASSAY_ASSIGN_OR_RETURN(const double seconds, BestSeconds(kMemorySamples, 1, stream, iterate));
  ASSAY_ASSIGN_OR_RETURN(const Verdict verdict, CheckStream(op, arrays, inputs, stream));
  if (!verdict.passed) return Internal("the memory probe was wrong: " + verdict.detail);
  return (op == StreamOp::kCopy ? 2 : 1) * static_cast<double>(kMemoryBytes) / seconds;
}

// Returns the higher of two speeds: that of a copy by cudaMemcpyAsync and that of a copy by Assay's
// own kernel. Either may be faster by a few percent. The function below does the same for writing.
Result<double> CopyBytesPerSecond(cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const double driver, MemcpyBytesPerSecond(stream));
  ASSAY_ASSIGN_OR_RETURN(const double kernel, StreamBytesPerSecond(StreamOp::kCopy, stream));
  return std::max(driver, kernel);
}
Result<double> WriteBytesPerSecond(cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const double driver, StreamBytesPerSecond(StreamOp::kMemset, stream));
  ASSAY_ASSIGN_OR_RETURN(const double kernel, StreamBytesPerSecond(StreamOp::kWrite, stream));
  return std::max(driver, kernel);
}

// Returns the FLOP/s of multiplying two square matrices of `side` x `side` random elements. B is
// stored transposed, which is the fastest layout on tensor cores and required for fp8 and int8.
Result<double> GemmFlopsPerSecond(GemmType type, int64_t side, cudaStream_t stream) {
  GemmShape shape;
  shape.type = type;
  shape.m = shape.n = shape.k = side;
  shape.b_transposed = true;
  shape.fast_accumulation = shape.IsFp8();
  const int64_t bytes = shape.ABytes() + shape.BBytes() + shape.DBytes();
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(bytes, "the GEMM probe"));
  const GemmOperands operands{buffer.data(), buffer.At(shape.ABytes()),
                              buffer.At(shape.ABytes() + shape.BBytes())};
  ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape, GemmInputs{}, /*set=*/0, buffer.data(),
                                       buffer.At(shape.ABytes()), stream));
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<LtGemm> gemm, LtGemm::Create(shape));
  ASSAY_ASSIGN_OR_RETURN(const double seconds,
                         SustainedSeconds(stream, [&] { return gemm->Enqueue(operands, stream); }));
  return shape.Flops() / seconds;
}

}  // namespace

Result<double> ProbeCeiling(const std::string& kind) {
  static const std::map<std::string, GemmType> types = {
      {"fp64_tensor", GemmType::kFp64}, {"fp32", GemmType::kFp32},   {"tf32", GemmType::kTf32},
      {"bf16", GemmType::kBf16},        {"fp8", GemmType::kFp8E4m3}, {"int8", GemmType::kInt8}};
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  if (kind == "copy") return CopyBytesPerSecond(stream.get());
  if (kind == "read") return StreamBytesPerSecond(StreamOp::kRead, stream.get());
  if (kind == "write") return WriteBytesPerSecond(stream.get());
  const auto type = types.find(kind);
  if (type == types.end()) return Unsupported("there is no probe for " + kind);
  // Either size may fit the number of SMs better.
  ASSAY_ASSIGN_OR_RETURN(const double large, GemmFlopsPerSecond(type->second, 8192, stream.get()));
  ASSAY_ASSIGN_OR_RETURN(const double small, GemmFlopsPerSecond(type->second, 4096, stream.get()));
  return std::max(large, small);
}

}  // namespace assay
