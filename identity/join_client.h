// The client of a coordinator's join listener: one HTTPS request to a server that is known by its
// key.
#pragma once

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::identity {

// Sends a request to POST /enrol. The token leaves this machine only after the server has proven
// that it has the pinned key. Blocks for at most `patience`. Has the errors of Join in
// identity/enrolled.h, and INVALID_ARGUMENT if URL or pin are malformed.
Result<v1::EnrolResponse> PostEnrol(const JoinPoint& join, const v1::EnrolRequest& request,
                                    Duration patience = std::chrono::seconds(30));

}  // namespace assay::identity
