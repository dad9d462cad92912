// Logs exceptions thrown in callbacks from gRPC, which would otherwise be lost without a trace.
#pragma once

#include <exception>
#include <utility>

#include "common/log.h"

namespace assay::agent {

// Runs the body of a reaction. If it throws an exception, logs and discards the exception.
template <typename Body>
void React(const char* what, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
  } catch (const std::exception& error) {
    Log().error("{} failed: {}", what, error.what());
  }
}

}  // namespace assay::agent
