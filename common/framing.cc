#include "common/framing.h"

#include <cstdint>

namespace assay {

std::string EncodeFrame(std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 5);
  for (uint64_t length = payload.size();;) {
    const auto low = static_cast<unsigned char>(length & 0x7f);
    length >>= 7;
    frame.push_back(static_cast<char>(length != 0 ? low | 0x80 : low));
    if (length == 0) break;
  }
  frame.append(payload);
  return frame;
}

Result<std::optional<std::string>> FrameDecoder::Next() {
  constexpr size_t kMaxVarintBytes = 5;
  uint64_t length = 0;
  size_t header = 0;
  for (;; ++header) {
    if (consumed_ + header == buffer_.size() && header < kMaxVarintBytes) {
      return std::optional<std::string>();
    }
    if (header == kMaxVarintBytes) {
      return Status(Code::kDataLoss, Reason::kBadFrame, "not a stream of length-prefixed messages");
    }
    const auto byte = static_cast<unsigned char>(buffer_[consumed_ + header]);
    length |= static_cast<uint64_t>(byte & 0x7f) << (7 * header);
    if ((byte & 0x80) == 0) break;
  }
  ++header;
  if (length > kMaxFrameBytes) {
    return Status(Code::kDataLoss, Reason::kBadFrame,
                  "a message claims " + std::to_string(length) + " bytes; the limit is " +
                      std::to_string(kMaxFrameBytes));
  }
  if (buffer_.size() - consumed_ - header < length) return std::optional<std::string>();
  std::string payload = buffer_.substr(consumed_ + header, length);
  consumed_ += header + length;
  if (consumed_ == buffer_.size() || consumed_ > (size_t{1} << 20)) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  return std::optional<std::string>(std::move(payload));
}

}  // namespace assay
