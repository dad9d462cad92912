#include "kernels/cuda/frame/kernel_image.h"

namespace assay {
namespace {

// Compiled for the same architectures as every other kernel of this folder.
__global__ void ProbeKernel() {}

}  // namespace

bool HasKernelsForGpu() {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, ProbeKernel);
  // Clears the error, so that the next call reports its own.
  if (error != cudaSuccess) cudaGetLastError();
  return error != cudaErrorNoKernelImageForDevice;
}

}  // namespace assay
