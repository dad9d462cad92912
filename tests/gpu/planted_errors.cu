// Kernels with one error each, for compute-sanitizer to detect.
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "tests/gpu/planted_faults.h"

namespace assay {
namespace {

constexpr int kThreads = 256;

// `data` has an element for each thread.
__global__ void WriteBeyond(int* data) { data[threadIdx.x + 1] = 1; }

// Reads what a thread of another warp writes, and does not wait for it.
__global__ void ReadEarly(int* data) {
  __shared__ int values[kThreads];
  const int mine = static_cast<int>(threadIdx.x);
  values[mine] = mine;
  data[mine] = values[(mine + kThreads / 2) % kThreads];
}

Status Run(void (*kernel)(int*)) {
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory,
                         DeviceBuffer::Allocate(kThreads * int64_t{sizeof(int)}, "elements"));
  kernel<<<1, kThreads, 0, stream.get()>>>(memory.as<int>());
  ASSAY_CUDA(cudaGetLastError());
  ASSAY_CUDA(cudaStreamSynchronize(stream.get()));
  return Status::Ok();
}

}  // namespace

Status WriteOutOfBounds() { return Run(WriteBeyond); }
Status RaceForSharedMemory() { return Run(ReadEarly); }

}  // namespace assay
