#include "coordinator/rpc/outbound_queue.h"

namespace assay::coordinator::rpc {
namespace {

std::string KeyOf(const v1::CoordinatorMessage& message) {
  switch (message.kind_case()) {
    case v1::CoordinatorMessage::kLeaseRenewal:
      return "renewal";
    case v1::CoordinatorMessage::kReconnect:
      return "reconnect";
    case v1::CoordinatorMessage::kAssign:
      return "assign " + message.assign().job().job_id();
    case v1::CoordinatorMessage::kCancel:
      return "cancel " + message.cancel().job_id() + " " + std::to_string(message.cancel().epoch());
    default:
      return "";
  }
}

}  // namespace

void OutboundQueue::Push(v1::CoordinatorMessage message) {
  std::string key = KeyOf(message);
  if (const auto known = keyed_.find(key); known != keyed_.end()) {
    queue_.erase(known->second);
    keyed_.erase(known);
  }
  queue_.push_back({std::move(key), std::move(message)});
  if (const std::string& kept = queue_.back().key; !kept.empty()) {
    keyed_[kept] = std::prev(queue_.end());
  }
}

std::optional<v1::CoordinatorMessage> OutboundQueue::Pop() {
  if (queue_.empty()) return std::nullopt;
  Item item = std::move(queue_.front());
  queue_.pop_front();
  keyed_.erase(item.key);
  return std::move(item.message);
}

void OutboundQueue::Clear() {
  queue_.clear();
  keyed_.clear();
}

}  // namespace assay::coordinator::rpc
