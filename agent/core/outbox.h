// Messages of a session that wait for the stream: in order, nothing dropped, except
// that only the newest State is worth sending.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "assay/v1/session.pb.h"

namespace assay::agent {

// Not thread-safe. Bounded by its user: the session keeps few results in flight, and
// States replace each other.
class Outbox {
 public:
  void Push(v1::AgentMessage message);
  // The oldest; nullopt if there is none.
  std::optional<v1::AgentMessage> Pop();
  void Clear() { messages_.clear(); }
  bool empty() const { return messages_.empty(); }

 private:
  std::deque<v1::AgentMessage> messages_;
};

}  // namespace assay::agent
