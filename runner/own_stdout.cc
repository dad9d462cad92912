#include "runner/own_stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace assay {

OwnStdout::OwnStdout() {
  std::fflush(stdout);
  // Not one of the descriptors that this program knows by number.
  constexpr int kFirstFree = 10;
  kept_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstFree);
  if (kept_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
  close(kept_);
  kept_ = -1;
}

OwnStdout::~OwnStdout() {
  if (kept_ < 0) return;
  std::fflush(stdout);
  dup2(kept_, STDOUT_FILENO);
  close(kept_);
}

}  // namespace assay
