#include "runner/frame_io.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace assay {

Result<std::optional<std::string>> FrameReader::Read() {
  for (;;) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<std::string> payload, decoder_.Next());
    if (payload) return payload;
    char chunk[65536];
    const ssize_t got = read(fd_, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Unavailable("reading fd " + std::to_string(fd_) + ": " + std::strerror(errno));
    }
    if (got == 0) {
      if (!decoder_.HasPartialFrame()) return std::optional<std::string>();
      return Status(Code::kDataLoss, Reason::kBadFrame,
                    "fd " + std::to_string(fd_) + " ended within a message");
    }
    decoder_.Append(std::string_view(chunk, static_cast<size_t>(got)));
  }
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      return Unavailable("writing fd " + std::to_string(fd) + ": " + std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return Status::Ok();
}

Status WriteFrame(int fd, std::string_view payload) { return WriteAll(fd, EncodeFrame(payload)); }

}  // namespace assay
