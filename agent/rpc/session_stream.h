// A session's gRPC stream, as server or as client: the same reading, writing and
// ending, under two base classes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/core/outbox.h"
#include "agent/core/session.h"
#include "agent/rpc/reaction.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace assay::agent {

// `Reactor` is grpc::ServerBidiReactor or grpc::ClientBidiReactor over the session's
// messages. `kReadsToTheEnd`: whether reading goes on after End (a client learns from
// it that the call is over; a server has finished the call by then).
//
// Reactions only hand over to the executor, where the session lives (and may have
// gone). The stream keeps itself alive until gRPC is done with it.
template <typename Reactor, bool kReadsToTheEnd>
class SessionStream : public Reactor,
                      public Link,
                      public std::enable_shared_from_this<SessionStream<Reactor, kReadsToTheEnd>> {
 public:
  SessionStream(std::weak_ptr<Session> session, Executor* executor)
      : session_(std::move(session)), executor_(executor) {}

  // Once, when the call may be used: introduces the stream to the session.
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

  void Close(const std::string& reason, std::optional<Duration> reconnect_after) override {
    MutexLock lock(mutex_);
    if (closing_) return;
    Log().debug("closing a session stream: {}", reason);
    reconnect_after_ = reconnect_after;
    closing_ = true;
    Pump();
  }

  void OnReadDone(bool ok) override {
    React("reading from a session", [&] {
      if (!ok) return OnEnd();
      executor_->Post([self = this->shared_from_this()] {
        if (const auto session = self->session_.lock()) session->Received(self, self->incoming_);
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
  // Ends the call from this side. Called once, with nothing being written.
  virtual void End() = 0;
  // The peer ended the call, or it broke: no more reading.
  virtual void OnNoMoreReading() {}

  std::optional<Duration> reconnect_after() {
    MutexLock lock(mutex_);
    return reconnect_after_;
  }

  // For OnDone: gRPC will not touch the stream again.
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

  // Reactions never run inside these calls of gRPC, so the lock may be held.
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
  v1::CoordinatorMessage incoming_;  // gRPC's while a read is out, else the executor's.
  v1::AgentMessage outgoing_;        // gRPC's while writing_.

  Mutex mutex_;
  Outbox outbox_ ASSAY_GUARDED_BY(mutex_);
  bool writing_ ASSAY_GUARDED_BY(mutex_) = false;
  bool closing_ ASSAY_GUARDED_BY(mutex_) = false;  // End once the outbox is empty.
  bool ended_ ASSAY_GUARDED_BY(mutex_) = false;
  std::optional<Duration> reconnect_after_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
