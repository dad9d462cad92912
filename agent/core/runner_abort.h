// What a runner may say when it gives up.
#pragma once

#include "assay/v1/failure.pb.h"

namespace assay::agent {

// Only what the runner alone can know is its to tell: with another class or reason it
// would cancel the job, or keep it from being tried again.
//   NODE, JOB        GPU_*                    the GPU is lost, or another's
//   INFRASTRUCTURE   PEER_LOST, PEER_TIMEOUT  another rank of the gang is gone
//   USER             VERSION_MISMATCH         the gang's ranks have different software
//                    MIXED_GPUS               or GPUs of several models
// The last two in a gang alone. Texts have bounds.
bool MayAbortWith(const v1::Failure& failure, bool gang);

}  // namespace assay::agent
