// Reads and writes frames (common/framing.h) on file descriptors. Calls block.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/framing.h"
#include "common/status.h"

namespace assay {

// The descriptor on which a runner writes its events (runner.proto).
inline constexpr int kEventsFd = 3;

// A reader of frames (length-prefixed messages) from a file descriptor, which it does not own. Not
// thread-safe.
class FrameReader {
 public:
  explicit FrameReader(int fd) : fd_(fd) {}

  // Reads the next frame and returns its payload, or nullopt at the end of the stream. Returns
  // DATA_LOSS if the data is not a valid frame or the stream ends within a frame, and UNAVAILABLE
  // if reading fails.
  Result<std::optional<std::string>> Read();

 private:
  const int fd_;
  FrameDecoder decoder_;
};

// Writes all of `bytes`. Returns UNAVAILABLE if the read end of the pipe is closed, provided that
// the process ignores SIGPIPE.
Status WriteAll(int fd, std::string_view bytes);

// Writes `payload` as one frame.
Status WriteFrame(int fd, std::string_view payload);

}  // namespace assay
