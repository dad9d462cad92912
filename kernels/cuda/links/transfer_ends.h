// The destinations of a transfer.
#pragma once

#include <vector>

#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

// A case of transfers, which has outputs in several places.
class TransferEnds {
 public:
  virtual ~TransferEnds() = default;
  // Returns the output of the latest iteration in each direction, in the GPU's or the host's
  // memory. A test corrupts it to see VerifyLast fail.
  virtual std::vector<OutputRange> LastOutputs() = 0;
};

}  // namespace assay
