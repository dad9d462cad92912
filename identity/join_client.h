// Sends a coordinator a request to join its fleet or to renew a certificate, over HTTPS. The server
// is identified by its public key rather than by a certificate chain.
#pragma once

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::identity {

// Sends `POST /enrol` to the coordinator. Sends the secret token only after the server has proven
// possession of the private key that matches the pin. Blocks for at most `patience`. Returns the
// errors of Join in identity/enrolled.h, or INVALID_ARGUMENT if the URL or the pin is malformed.
Result<v1::EnrolResponse> PostEnrol(const JoinPoint& join, const v1::EnrolRequest& request,
                                    Duration patience = std::chrono::seconds(30));

}  // namespace assay::identity
