// Keeps programs running: starts each one again when it ends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay::cli {

// A program that runs already. The functions are called on the supervising thread.
struct Supervised {
  std::string name;                           // "assay-agent".
  std::function<int()> pidfd;                 // Becomes readable when the program has ended.
  std::function<std::string()> describe_end;  // How it ended, with the end of its log.
  std::function<Status()> restart;            // Blocks until the program serves again.
};

// Blocks until `signals`, a signalfd, is readable. A program that ends is started again after 1 s;
// the delay doubles, up to 30 s, each time that a start fails or the program ends within a minute.
// Every end and every restart is printed to stderr.
void Supervise(const std::vector<Supervised>& programs, int signals);

}  // namespace assay::cli
