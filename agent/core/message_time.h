// Durations on the wire and in the program.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <algorithm>

#include "common/clock.h"

namespace assay::agent {

// Cut to ten days either way, so that sums with a time cannot overflow.
inline Duration ToDuration(const google::protobuf::Duration& duration) {
  constexpr int64_t kMostSeconds = 864'000;
  return std::chrono::seconds(std::clamp(duration.seconds(), -kMostSeconds, kMostSeconds)) +
         Duration(duration.nanos());
}

inline google::protobuf::Duration ToProto(Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(duration.count() / 1'000'000'000);
  proto.set_nanos(static_cast<int32_t>(duration.count() % 1'000'000'000));
  return proto;
}

}  // namespace assay::agent
