// Exit codes of the program.
#pragma once

#include <signal.h>

#include "common/status.h"

namespace assay::cli {

enum ExitCode {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitUnreachable = 3,
  kExitRefused = 4,
  // `campaign wait --timeout` ended before the campaign. timeout(1) uses the same code.
  kExitTimedOut = 124,
  // SIGINT or SIGTERM ended the program. Shells use the same codes.
  kExitInterrupted = 128 + SIGINT,
  kExitTerminated = 128 + SIGTERM,
};

// Returns the exit code for an error.
ExitCode ExitCodeOf(const Status& status);

// Returns kExitTerminated for SIGTERM, else kExitInterrupted.
constexpr ExitCode ExitCodeOfSignal(int signal) {
  return signal == SIGTERM ? kExitTerminated : kExitInterrupted;
}

}  // namespace assay::cli
