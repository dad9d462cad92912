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
  // As timeout(1) reports it: `campaign wait --timeout` ended before the campaign.
  kExitTimedOut = 124,
  // As shells report a program that SIGINT or SIGTERM ended.
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
