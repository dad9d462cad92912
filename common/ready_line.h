// How a service tells whoever started it that it serves, and where.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/status.h"

namespace assay {

// Writes `line` and a newline to descriptor `fd` and closes it: whoever waits sees
// either the line or the end. No effect if `fd` is negative.
inline Status TellReady(int fd, const std::string& line) {
  if (fd < 0) return Status::Ok();
  const std::string text = line + "\n";
  const ssize_t written = ::write(fd, text.data(), text.size());
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (written == static_cast<ssize_t>(text.size())) return Status::Ok();
  return FailedPrecondition("cannot write the addresses to --ready-fd " + std::to_string(fd) +
                            (written < 0 ? ": " + why : ": the line was cut"));
}

}  // namespace assay
