// Messages on a byte stream: each preceded by its length as a protobuf varint.
// This is how agent and runner talk. Bytes only; what they mean is the caller's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// No message between agent and runner may be larger. A length beyond it means
// that the stream is garbage.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

// `payload` with its length in front.
std::string EncodeFrame(std::string_view payload);

// Reassembles frames from chunks of any size. Not thread-safe.
class FrameDecoder {
 public:
  void Append(std::string_view chunk) { buffer_.append(chunk); }

  // The next whole payload, nullopt if more bytes are needed, DATA_LOSS if the
  // stream cannot be frames (then and forever after).
  Result<std::optional<std::string>> Next();

  // True if a frame has begun and not ended: end of file here is a truncation.
  bool HasPartialFrame() const { return consumed_ < buffer_.size(); }

 private:
  std::string buffer_;
  size_t consumed_ = 0;  // Bytes of buffer_ already handed out.
};

}  // namespace assay
