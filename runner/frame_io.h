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

// A reader of frames from a descriptor that it does not own. Only one thread at a time may use an
// object.
class FrameReader {
 public:
  explicit FrameReader(int fd) : fd_(fd) {}

  // Reads the next frame and returns its payload. Returns nullopt if the stream ended between two
  // frames. Returns DATA_LOSS if the bytes are not a frame or the stream ended within one, and
  // UNAVAILABLE if reading failed.
  Result<std::optional<std::string>> Read();

 private:
  const int fd_;
  FrameDecoder decoder_;
};

// Writes all of `bytes`. Returns UNAVAILABLE if the reading end is closed. The process must ignore
// SIGPIPE.
Status WriteAll(int fd, std::string_view bytes);

// Writes `payload` as one frame.
Status WriteFrame(int fd, std::string_view payload);

}  // namespace assay
