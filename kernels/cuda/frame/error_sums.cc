#include "kernels/cuda/frame/error_sums.cuh"

#include <cmath>

#include "common/units.h"

namespace assay {

Result<ErrorAccumulator> ErrorAccumulator::Create(cudaStream_t stream) {
  ErrorAccumulator sums;
  ASSAY_ASSIGN_OR_RETURN(sums.buffer_,
                         DeviceBuffer::Allocate(sizeof(ErrorSums), "the check's sums"));
  const ErrorSums zero;
  ASSAY_CUDA(cudaMemcpyAsync(sums.buffer_.data(), &zero, sizeof zero, cudaMemcpyDefault, stream));
  return sums;
}

Result<Verdict> ErrorAccumulator::Read(int64_t elements, const ErrorLimits& limits,
                                       std::string reference, cudaStream_t stream) const {
  ErrorSums sums;
  ASSAY_CUDA(cudaMemcpyAsync(&sums, buffer_.data(), sizeof sums, cudaMemcpyDefault, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  Verdict verdict;
  verdict.reference = std::move(reference);
  verdict.tolerance = limits.tolerance;
  verdict.elements_checked = elements;
  verdict.error = sums.error_squared == 0
                      ? 0
                      : std::sqrt(sums.error_squared) / std::sqrt(sums.reference_squared);
  const bool none_bad = sums.first_bad == ErrorSums().first_bad;
  verdict.passed = none_bad && verdict.error <= limits.tolerance;
  if (!none_bad) {
    verdict.detail = "element " + std::to_string(sums.first_bad) + " is wrong";
  } else if (!verdict.passed) {
    verdict.detail = "||out - ref|| / ||ref|| is " + NumberText(verdict.error);
  }
  return verdict;
}

}  // namespace assay
