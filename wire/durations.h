// Converts durations to and from protobuf messages.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <algorithm>
#include <chrono>

#include "common/clock.h"

namespace assay {

inline google::protobuf::Duration ToProto(Duration duration) {
  google::protobuf::Duration proto;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  proto.set_seconds(seconds.count());
  proto.set_nanos(static_cast<int32_t>((duration - seconds).count()));
  return proto;
}

// Converts a duration from a message, clamping it to the range from zero to one year. Messages from
// other machines can contain any value; clamping ensures that adding the result to a time cannot
// overflow.
inline Duration FromProto(const google::protobuf::Duration& proto) {
  constexpr int64_t kYear = 365 * 86'400;
  const int64_t seconds = std::clamp<int64_t>(proto.seconds(), 0, kYear);
  const int32_t nanos = std::clamp(proto.nanos(), 0, 999'999'999);
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos);
}

}  // namespace assay
