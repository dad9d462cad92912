// The client of a coordinator's join listener. It sends one HTTPS request to a server that it
// identifies by the server's public key.
#pragma once

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::identity {

// Sends `POST /enrol` to the join listener. Sends the token only after the server has proven that
// it has the private key that belongs to the pin. Blocks for at most `patience`. Returns the errors
// of Join in identity/enrolled.h, and INVALID_ARGUMENT if the URL or the pin is malformed.
Result<v1::EnrolResponse> PostEnrol(const JoinPoint& join, const v1::EnrolRequest& request,
                                    Duration patience = std::chrono::seconds(30));

}  // namespace assay::identity
