#include "coordinator/rpc/stream_link.h"

#include <utility>

namespace assay::coordinator::rpc {
namespace {

// Number of queued outgoing messages above which no messages are read from the peer. Without this
// limit, a peer could keep sending requests without ever reading the answers.
constexpr size_t kMaxOutbound = 1024;

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

// Removes `text` from the beginning of `from`. Returns false if it is not there.
bool RemovePrefix(std::string_view& from, std::string_view text) {
  if (!from.starts_with(text)) return false;
  from.remove_prefix(text.size());
  return true;
}

}  // namespace

std::string AddressOfPeer(std::string_view uri) {
  if (RemovePrefix(uri, "ipv4:")) return std::string(uri.substr(0, uri.find(':')));
  if (!RemovePrefix(uri, "ipv6:")) return "";
  if (RemovePrefix(uri, "%5B")) return std::string(uri.substr(0, uri.find('%')));
  return RemovePrefix(uri, "[") ? std::string(uri.substr(0, uri.find(']'))) : "";
}

void OutboundQueue::Push(v1::CoordinatorMessage message) {
  std::string key = KeyOf(message);
  if (!key.empty()) std::erase_if(queue_, [&](const Item& item) { return item.key == key; });
  queue_.push_back({std::move(key), std::move(message)});
}

std::optional<v1::CoordinatorMessage> OutboundQueue::Pop() {
  if (queue_.empty()) return std::nullopt;
  v1::CoordinatorMessage message = std::move(queue_.front().message);
  queue_.pop_front();
  return message;
}

void StreamLink::Start(std::shared_ptr<Session> session) {
  MutexLock lock(mutex_);
  session_ = std::move(session);
  Advance();
}

Identity StreamLink::Peer() {
  MutexLock lock(mutex_);
  return operations_ == nullptr ? Identity() : operations_->Peer();
}

std::string StreamLink::PeerAddress() {
  MutexLock lock(mutex_);
  return operations_ == nullptr ? "" : AddressOfPeer(operations_->PeerUri());
}

void StreamLink::Send(v1::CoordinatorMessage message) {
  MutexLock lock(mutex_);
  if (closing_ || broken_) return;
  queue_.Push(std::move(message));
  Advance();
}

void StreamLink::ReadMore() {
  MutexLock lock(mutex_);
  session_full_ = false;
  Advance();
}

void StreamLink::Close(const Status& status) {
  MutexLock lock(mutex_);
  BeginClosing(status);
}

void StreamLink::RequireMessage() {
  MutexLock lock(mutex_);
  if (received_) return;
  BeginClosing(
      Status(Code::kDeadlineExceeded, Reason::kProtocolViolation, "no Hello came within 10 s"));
}

void StreamLink::Cancel() {
  MutexLock lock(mutex_);
  if (operations_ != nullptr) operations_->Cancel();
}

void StreamLink::OnReadDone(bool ok, v1::AgentMessage message) {
  std::shared_ptr<Session> session;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    received_ = true;
    session = session_;
    // Mark the session as full before OnMessage, not after it. The session may call ReadMore before
    // OnMessage returns, and marking it as full afterward would undo that.
    session_full_ = true;
  }
  if (!session) return;
  if (ok) {
    if (session->OnMessage(std::move(message))) ReadMore();
    return;
  }
  session->OnClosed();
  Close(Status::Ok());
}

void StreamLink::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) {
    broken_ = true;
    queue_.Clear();
  }
  Advance();
}

void StreamLink::OnBroken() {
  std::shared_ptr<Session> session;
  {
    MutexLock lock(mutex_);
    broken_ = true;
    queue_.Clear();
    session = session_;
    BeginClosing(Status(Code::kCancelled, Reason::kStreamBroken, "the stream was broken off"));
  }
  if (session) session->OnClosed();
}

void StreamLink::OnDone() {
  std::shared_ptr<Session> session;
  {
    MutexLock lock(mutex_);
    operations_ = nullptr;
    session = std::exchange(session_, nullptr);
  }
  if (session) session->OnClosed();
}

void StreamLink::BeginClosing(const Status& status) {
  if (!closing_) closing_ = status;
  Advance();
}

void StreamLink::Advance() {
  if (operations_ == nullptr || finished_) return;
  if (!writing_ && !broken_) {
    if (std::optional<v1::CoordinatorMessage> next = queue_.Pop()) {
      writing_message_ = *std::move(next);
      writing_ = true;
      operations_->Write(&writing_message_);
    }
  }
  if (closing_) {
    if (writing_) return;
    finished_ = true;
    operations_->Finish(*closing_);
    return;
  }
  if (!reading_ && !session_full_ && !broken_ && session_ && queue_.size() < kMaxOutbound) {
    reading_ = true;
    operations_->Read();
  }
}

}  // namespace assay::coordinator::rpc
