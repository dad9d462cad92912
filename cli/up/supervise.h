// Restarts programs that end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay::cli {

// A program that was started, with functions to watch and restart it.
struct Supervised {
  std::string name;                           // "assay-agent".
  std::function<int()> pidfd;                 // Becomes readable when the program has ended.
  std::function<std::string()> describe_end;  // How it ended, with the end of its log.
  std::function<Status()> restart;            // Blocks until the program serves again.
};

// Restarts programs that exit, until `signals` (a signalfd) becomes readable. The delay before a
// restart starts at 1 s. Each time a start fails or the program exits within a minute, the delay
// doubles, up to 30 s. Prints every exit and restart to stderr.
void Supervise(const std::vector<Supervised>& programs, int signals);

}  // namespace assay::cli
