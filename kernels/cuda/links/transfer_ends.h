// Where the bytes of a transfer arrive.
#pragma once

#include <vector>

#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

// A case of transfers, which has outputs at several places.
class TransferEnds {
 public:
  virtual ~TransferEnds() = default;
  // The output of the latest iteration in each direction, in the GPU's memory or the host's:
  // what a test spoils to see VerifyLast fail.
  virtual std::vector<OutputRange> LastOutputs() = 0;
};

}  // namespace assay
