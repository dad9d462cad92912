// Checks the reasons that a runner may give when it aborts.
#pragma once

#include "assay/v1/failure.pb.h"

namespace assay::agent {

// True for reasons that only the runner can know: GPU_*, and in a gang also the loss of a peer,
// ADDRESS_UNUSABLE, VERSION_MISMATCH and MIXED_GPUS. With any other the runner could cancel the
// job, or keep it from being tried again. Texts have bounds.
bool MayAbortWith(const v1::Failure& failure, bool gang);

}  // namespace assay::agent
