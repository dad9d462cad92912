#include "kernels/cuda/frame/kernel_image.h"

namespace assay {
namespace {

// Compiled like every other kernel of this folder, for the same architectures.
__global__ void ProbeKernel() {}

}  // namespace

bool HasKernelsForGpu() {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, ProbeKernel);
  if (error != cudaSuccess) cudaGetLastError();  // Whoever asks next gets their own.
  return error != cudaErrorNoKernelImageForDevice;
}

}  // namespace assay
