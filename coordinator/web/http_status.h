#pragma once

#include "common/status.h"

namespace assay::coordinator::web {

// Returns the HTTP status of an error, as the Connect protocol assigns it.
int HttpStatus(Code code);

}  // namespace assay::coordinator::web
