#include <algorithm>
#include <atomic>

#include "common/units.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/find_gpu_absence.h"

namespace assay {
namespace {

// GPU memory that cases leave free for contexts, module code, cuBLAS and NCCL.
constexpr int64_t kReserveBytes = int64_t{512} << 20;

std::atomic<int64_t> missing_bytes{0};

// Compiled for the same architectures as every other kernel of this folder.
__global__ void ProbeKernel() {}

// Returns false if this program contains no code for the current GPU's architecture. Ignores
// other CUDA errors, because the next CUDA call will report them.
bool HasKernelsForGpu() {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, ProbeKernel);
  // Clears the error, so that the next call reports its own.
  if (error != cudaSuccess) cudaGetLastError();
  return error != cudaErrorNoKernelImageForDevice;
}

}  // namespace

std::string WhyNoGpu() {
  const auto absence = FindGpuAbsence();
  return absence && !absence->broken ? absence->why : "";
}

Result<GpuDevice> UseGpu(int ordinal) {
  int count = 0;
  ASSAY_CUDA(cudaGetDeviceCount(&count));
  if (ordinal < 0 || ordinal >= count) {
    return FailedPrecondition("the rank needs GPU " + std::to_string(ordinal) +
                                  "; this process sees " + std::to_string(count),
                              Reason::kNoGpu);
  }
  ASSAY_CUDA(cudaSetDevice(ordinal));
  GpuDevice device;
  device.ordinal = ordinal;
  int l2 = 0;
  ASSAY_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, ordinal));
  device.l2_bytes = l2;
  ASSAY_CUDA(
      cudaDeviceGetAttribute(&device.compute_major, cudaDevAttrComputeCapabilityMajor, ordinal));
  ASSAY_CUDA(
      cudaDeviceGetAttribute(&device.compute_minor, cudaDevAttrComputeCapabilityMinor, ordinal));
  if (!HasKernelsForGpu()) {
    const std::string major = std::to_string(device.compute_major);
    const std::string minor = std::to_string(device.compute_minor);
    // Architecture-specific features: wgmma, bulk copies.
    const std::string features = device.compute_major == 9 ? "a" : "";
    return Unsupported("this build has no kernels for GPUs of compute capability " + major + "." +
                       minor + ": configure with -DCMAKE_CUDA_ARCHITECTURES=" + major + minor +
                       features + "-real, or run a `./dev bundle`, which has them for 7.5 to 12.0");
  }
  ASSAY_CUDA(cudaDeviceGetAttribute(&device.sm_count, cudaDevAttrMultiProcessorCount, ordinal));
  int shared = 0;
  ASSAY_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
  device.shared_bytes_per_block = shared;
  return device;
}

Status NeedCapability(const GpuDevice& device, int major, int minor, const std::string& what) {
  const int have = device.compute_major * 10 + device.compute_minor;
  if (have >= major * 10 + minor) return Status::Ok();
  return Unsupported(what + " needs compute capability " + std::to_string(major) + "." +
                     std::to_string(minor) + "; this GPU has " +
                     std::to_string(device.compute_major) + "." +
                     std::to_string(device.compute_minor));
}

Result<int64_t> AvailableDeviceBytes() {
  size_t free = 0;
  size_t total = 0;
  ASSAY_CUDA(cudaMemGetInfo(&free, &total));
  return std::max<int64_t>(0, static_cast<int64_t>(free) - kReserveBytes);
}

void NoteMissingDeviceBytes(int64_t bytes) { missing_bytes = bytes; }
void NoteMissingDeviceBytes() { NoteMissingDeviceBytes(kReserveBytes); }
int64_t TakeMissingDeviceBytes() { return missing_bytes.exchange(0); }

Result<DeviceBuffer> DeviceBuffer::Allocate(int64_t bytes, const std::string& purpose) {
  DeviceBuffer buffer;
  const cudaError_t error = cudaMalloc(&buffer.data_, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0;
    size_t total = 0;
    ASSAY_CUDA(cudaMemGetInfo(&free, &total));
    NoteMissingDeviceBytes(std::max<int64_t>(1, bytes - static_cast<int64_t>(free)));
    return OutOfMemory("cannot allocate " + ApproximateBytes(bytes) + " for " + purpose + ": " +
                       ApproximateBytes(static_cast<int64_t>(free)) + " of the GPU's " +
                       ApproximateBytes(static_cast<int64_t>(total)) +
                       " are free, and at most that would fit");
  }
  ASSAY_RETURN_IF_ERROR(CudaStatus(error, "cudaMalloc", __FILE__, __LINE__));
  buffer.bytes_ = bytes;
  return Result<DeviceBuffer>(std::move(buffer));
}

Result<CudaStream> CudaStream::Create() {
  CudaStream stream;
  ASSAY_CUDA(cudaStreamCreateWithFlags(&stream.stream_, cudaStreamNonBlocking));
  return Result<CudaStream>(std::move(stream));
}

Result<CudaStream> CudaStream::CreateUrgent() {
  int least = 0;
  int greatest = 0;
  ASSAY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CudaStream stream;
  ASSAY_CUDA(cudaStreamCreateWithPriority(&stream.stream_, cudaStreamNonBlocking, greatest));
  return Result<CudaStream>(std::move(stream));
}

Result<CudaEvent> CudaEvent::Create(unsigned flags) {
  CudaEvent event;
  ASSAY_CUDA(cudaEventCreateWithFlags(&event.event_, flags));
  return Result<CudaEvent>(std::move(event));
}

Status CudaEvent::Record(cudaStream_t stream) const {
  ASSAY_CUDA(cudaEventRecord(event_, stream));
  return Status::Ok();
}

Status CudaEvent::Await(cudaStream_t stream) const {
  ASSAY_CUDA(cudaStreamWaitEvent(stream, event_, 0));
  return Status::Ok();
}

Status CudaEvent::Order(cudaStream_t earlier, cudaStream_t later) const {
  ASSAY_RETURN_IF_ERROR(Record(earlier));
  return Await(later);
}

}  // namespace assay
