#include "runner/stdout_to_stderr.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace assay {

StdoutToStderr::StdoutToStderr() {
  std::fflush(stdout);
  // Above the descriptors that this program uses by number.
  constexpr int kFirstFree = 10;
  kept_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstFree);
  if (kept_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
  close(kept_);
  kept_ = -1;
}

StdoutToStderr::~StdoutToStderr() {
  if (kept_ < 0) return;
  std::fflush(stdout);
  dup2(kept_, STDOUT_FILENO);
  close(kept_);
}

}  // namespace assay
