// gRPC swallows exceptions that leave a reaction; here they are logged and become an
// error instead.
#pragma once

#include <exception>
#include <string>

#include "common/log.h"
#include "common/status.h"

namespace assay::coordinator::rpc {

// Runs `body`; INTERNAL if it throws.
template <typename Body>
Status Guarded(const char* what, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    Log().error("{} threw: {}", what, error.what());
    return Internal(std::string(what) + " failed inside the coordinator; its log says why");
  }
}

// Runs `body` in a reaction that has nobody to answer.
template <typename Body>
void Reaction(const char* what, Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    Log().error("{} threw: {}", what, error.what());
  }
}

}  // namespace assay::coordinator::rpc
