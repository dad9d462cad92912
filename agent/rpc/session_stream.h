// The gRPC stream of a session. If the coordinator opened the connection, the agent is the gRPC
// server; otherwise it is the client. One template handles reading, writing and ending for both.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/core/session.h"
#include "agent/rpc/reaction.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace assay::agent {

// A queue of outgoing messages. It holds at most one AgentState message: a new one replaces the old
// one, but keeps the old one's GPU state if it has none of its own. The queue has no size limit,
// but the session limits the number of unacknowledged results. Not thread-safe.
class Outbox {
 public:
  void Push(v1::AgentMessage message) {
    if (message.has_state()) {
      const auto waiting = std::find_if(messages_.begin(), messages_.end(),
                                        [](const auto& one) { return one.has_state(); });
      if (waiting != messages_.end()) {
        if (message.state().gpus().empty()) {
          message.mutable_state()->mutable_gpus()->Swap(waiting->mutable_state()->mutable_gpus());
        }
        messages_.erase(waiting);
      }
    }
    messages_.push_back(std::move(message));
  }
  // Returns the oldest message; nullopt if there is none.
  std::optional<v1::AgentMessage> Pop() {
    if (messages_.empty()) return std::nullopt;
    v1::AgentMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  void Clear() { messages_.clear(); }

 private:
  std::deque<v1::AgentMessage> messages_;
};

// The gRPC stream of a session. `Reactor` is grpc::ServerBidiReactor or grpc::ClientBidiReactor.
// Set `kReadsToTheEnd` for a client, because gRPC notifies it of the end of the call only while it
// keeps reading. The session runs on the executor: gRPC's callbacks only post tasks there. The
// stream keeps itself alive until the last callback.
template <typename Reactor, bool kReadsToTheEnd>
class SessionStream : public Reactor,
                      public Link,
                      public std::enable_shared_from_this<SessionStream<Reactor, kReadsToTheEnd>> {
 public:
  SessionStream(std::weak_ptr<Session> session, Executor* executor)
      : session_(std::move(session)), executor_(executor) {}

  // Connects the session to this stream. Call this once, when messages can be sent.
  void Begin() {
    self_ = this->shared_from_this();
    executor_->Post([self = self_] {
      if (const auto session = self->session_.lock()) session->Connected(self);
    });
    this->StartRead(&incoming_);
  }

  void Send(v1::AgentMessage message) override {
    MutexLock lock(mutex_);
    if (closing_) return;
    outbox_.Push(std::move(message));
    Pump();
  }

  void Close(const std::string& reason, std::optional<ReconnectRequest> reconnect) override {
    MutexLock lock(mutex_);
    // Kept even if the peer has ended the call already, as it does after it sent Reconnect.
    if (reconnect) reconnect_ = std::move(reconnect);
    if (closing_) return;
    Log().debug("closing a session stream: {}", reason);
    closing_ = true;
    Pump();
  }

  void OnReadDone(bool ok) override {
    React("reading from a session", [&] {
      if (!ok) return OnEnd();
      const bool trusted = IsTrusted();
      if (!trusted) Close("the peer is not a coordinator of this fleet", std::nullopt);
      executor_->Post([self = this->shared_from_this(), trusted] {
        const auto session = self->session_.lock();
        if (session && trusted) {
          self->welcomed_ |= self->incoming_.has_hello_ack();
          session->Received(self, self->incoming_);
        }
        self->ReadMore();
      });
    });
  }

  void OnWriteDone(bool ok) override {
    React("writing to a session", [&] {
      MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) {
        closing_ = true;
        outbox_.Clear();
      }
      Pump();
    });
  }

 protected:
  // Ends the call from this side. Called once, with no write in flight.
  virtual void End() = 0;
  // Returns true if the peer is a coordinator. Call this after a message has arrived.
  virtual bool IsTrusted() const { return true; }
  // Stops reading, because the peer ended the call or it broke.
  virtual void OnNoMoreReading() {}

  // Returns true if the coordinator has answered Hello. Call from OnDone.
  bool welcomed() const { return welcomed_; }

  std::optional<ReconnectRequest> reconnect() {
    MutexLock lock(mutex_);
    return reconnect_;
  }

  // Call from OnDone: gRPC will not access the stream again.
  void Release() { self_.reset(); }

  Executor* executor() { return executor_; }

 private:
  void OnEnd() {
    {
      MutexLock lock(mutex_);
      closing_ = true;
      outbox_.Clear();
      Pump();
    }
    executor_->Post([self = this->shared_from_this()] {
      if (const auto session = self->session_.lock()) session->Disconnected(self);
    });
    OnNoMoreReading();
  }

  void ReadMore() {
    MutexLock lock(mutex_);
    if (kReadsToTheEnd || !ended_) this->StartRead(&incoming_);
  }

  // Reactions never run inside these gRPC calls, so the lock may be held.
  void Pump() ASSAY_REQUIRES(mutex_) {
    if (writing_ || ended_) return;
    if (auto next = outbox_.Pop()) {
      outgoing_ = std::move(*next);
      writing_ = true;
      this->StartWrite(&outgoing_);
    } else if (closing_) {
      ended_ = true;
      End();
    }
  }

  const std::weak_ptr<Session> session_;
  Executor* const executor_;
  std::shared_ptr<SessionStream> self_;
  v1::CoordinatorMessage incoming_;  // Owned by gRPC during a read, else by the executor.
  v1::AgentMessage outgoing_;        // Owned by gRPC while writing_.
  bool welcomed_ = false;            // Written on the executor between two reads.

  Mutex mutex_;
  Outbox outbox_ ASSAY_GUARDED_BY(mutex_);
  bool writing_ ASSAY_GUARDED_BY(mutex_) = false;
  bool closing_ ASSAY_GUARDED_BY(mutex_) = false;  // End once the outbox is empty.
  bool ended_ ASSAY_GUARDED_BY(mutex_) = false;
  std::optional<ReconnectRequest> reconnect_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
