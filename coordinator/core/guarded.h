// Runs code whose exceptions must not stop a loop.
#pragma once

#include <exception>
#include <string>

#include "common/log.h"
#include "common/status.h"

namespace assay::coordinator {

// Runs `body` and returns its Status. If `body` throws, logs the exception and returns INTERNAL.
// Otherwise, an exception would keep a periodic task from scheduling its next run, or would be
// silently swallowed by gRPC.
template <typename Body>
Status Guarded(const char* what, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    Log().error("{} threw: {}", what, error.what());
    return Internal(std::string(what) + " failed in the coordinator; its log has the reason");
  }
}

}  // namespace assay::coordinator
