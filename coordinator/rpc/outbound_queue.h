// The messages that wait to be sent on one session.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "assay/v1/session.pb.h"

namespace assay::coordinator::rpc {

// First in, first out, except that messages with the same meaning are kept once, the
// latest at the end: renewals, and Assigns and Cancels of one job. So a peer that does
// not read makes the queue grow with its own requests alone. Not thread-safe.
class OutboundQueue {
 public:
  void Push(v1::CoordinatorMessage message);
  std::optional<v1::CoordinatorMessage> Pop();
  size_t size() const { return queue_.size(); }
  void Clear();

 private:
  struct Item {
    std::string key;  // Empty: every one counts.
    v1::CoordinatorMessage message;
  };
  std::list<Item> queue_;
  std::map<std::string, std::list<Item>::iterator> keyed_;
};

}  // namespace assay::coordinator::rpc
