#include "kernels/cuda/probe.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/event_timer.h"
#include "kernels/cuda/lt_gemm.h"

namespace assay {
namespace {

// The best of a few: a ceiling is what the device can reach.
Result<double> BestSeconds(int64_t samples, cudaStream_t stream,
                           const std::function<Status()>& iterate) {
  EventTimer timer;
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer.Time(stream, samples, 1, iterate, &seconds));
  return *std::min_element(seconds.begin(), seconds.end());
}

}  // namespace

Result<std::optional<double>> ProbeCopyBandwidth(cudaStream_t stream) {
  constexpr int64_t kBytes = int64_t{1} << 30;
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  if (available < 2 * kBytes) return std::optional<double>();
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(2 * kBytes, "the copy probe"));
  const auto copy = [&]() -> Status {
    ASSAY_CUDA(cudaMemcpyAsync(buffer.At(kBytes), buffer.data(), kBytes, cudaMemcpyDeviceToDevice,
                               stream));
    return Status::Ok();
  };
  ASSAY_ASSIGN_OR_RETURN(const double seconds, BestSeconds(30, stream, copy));
  return std::optional<double>(2 * static_cast<double>(kBytes) / seconds);
}

Result<std::optional<double>> ProbeGemmFlops(GemmType type, const GemmInputs& inputs,
                                             cudaStream_t stream) {
  constexpr int64_t kSide = 8192;
  const GemmShape shape{type, kSide, kSide, kSide, false, true};
  const int64_t bytes = shape.ABytes() + shape.BBytes() + shape.DBytes();
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  if (available < bytes) return std::optional<double>();
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(bytes, "the GEMM probe"));
  const GemmOperands operands{buffer.data(), buffer.At(shape.ABytes()),
                              buffer.At(shape.ABytes() + shape.BBytes())};
  ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape, GemmInputs{inputs.seed, inputs.zeros, 0, 0}, 1,
                                       buffer.data(), buffer.At(shape.ABytes()), stream));
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<LtGemm> gemm, LtGemm::Create(shape));
  const int64_t samples = type == GemmType::kFp32 ? 3 : 50;
  ASSAY_ASSIGN_OR_RETURN(const double seconds, BestSeconds(samples, stream, [&] {
                           return gemm->Enqueue(operands, stream);
                         }));
  return std::optional<double>(shape.Flops() / seconds);
}

}  // namespace assay
