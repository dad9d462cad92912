// Encodes and decodes messages on a byte stream. Each frame is a message prefixed with its length
// as a protobuf varint. The agent, a daemon on each node, uses frames to communicate with its
// runners, the child processes that run benchmarks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// The largest message between agent and runner. A greater length means that the stream is garbage.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

// Returns `payload` preceded by its length.
std::string EncodeFrame(std::string_view payload);

// Reassembles frames from chunks of any size. Not thread-safe.
class FrameDecoder {
 public:
  void Append(std::string_view chunk) { buffer_.append(chunk); }

  // Returns the next complete message, or nullopt if more bytes are needed. Returns DATA_LOSS if
  // the bytes are not valid frames. After that, all calls fail.
  Result<std::optional<std::string>> Next();

  // Returns true in the middle of a frame, where an end of file means that the stream was cut.
  bool HasPartialFrame() const { return consumed_ < buffer_.size(); }

 private:
  std::string buffer_;
  size_t consumed_ = 0;  // Bytes of buffer_ already handed out.
};

}  // namespace assay
