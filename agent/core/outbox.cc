#include "agent/core/outbox.h"

namespace assay::agent {

void Outbox::Push(v1::AgentMessage message) {
  if (message.has_state()) {
    std::erase_if(messages_, [](const auto& waiting) { return waiting.has_state(); });
  }
  messages_.push_back(std::move(message));
}

std::optional<v1::AgentMessage> Outbox::Pop() {
  if (messages_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace assay::agent
