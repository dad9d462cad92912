// What stands between a session and the gRPC reactor of its stream, whichever side
// dialled: one read and one write in flight, the queue of what is to be sent, and the
// order in which a stream ends.
//
//   +------+  Close, or the peer ended  +---------+  nothing left to   +----------+
//   | open | -------------------------> | closing | -----------------> | finished |
//   +------+                            +---------+  write, or broken  +----------+
//                                                                           | OnDone
//                                                                           v
//                                                                       detached
#pragma once

#include <memory>
#include <optional>

#include "assay/v1/session.pb.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/sessions/session.h"
#include "coordinator/core/sessions/sessions.h"
#include "coordinator/rpc/outbound_queue.h"

namespace assay::coordinator::rpc {

// The operations of one reactor. Each returns at once and never calls back into the
// link on the same thread.
class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  // Begins a read; its end is OnReadDone.
  virtual void Read() = 0;
  // Begins a write of `message`, which lives until OnWriteDone.
  virtual void Write(const v1::CoordinatorMessage* message) = 0;
  // Ends the stream; no operation follows. Called once.
  virtual void Finish(const Status& status) = 0;
};

// Thread-safe; shared by the session, as its sink, and the reactor.
class StreamLink : public SessionSink {
 public:
  // `operations` is used until OnDone.
  explicit StreamLink(StreamOperations* operations) : operations_(operations) {}

  // Gives the link its session and begins to read. Call once, first.
  void Start(std::shared_ptr<Session> session);

  void Send(v1::CoordinatorMessage message) override;
  void ReadMore() override;
  void Close(const Status& status) override;

  // The reactor's events. `message` is what was read.
  void OnReadDone(bool ok, v1::AgentMessage message);
  void OnWriteDone(bool ok);
  // The peer or the transport has gone; what is queued cannot be sent.
  void OnBroken();
  void OnDone();

 private:
  void BeginClosing(const Status& status) ASSAY_REQUIRES(mutex_);
  // Starts whatever may start now.
  void Advance() ASSAY_REQUIRES(mutex_);

  Mutex mutex_;
  StreamOperations* operations_ ASSAY_GUARDED_BY(mutex_);  // Null once detached.
  std::shared_ptr<Session> session_ ASSAY_GUARDED_BY(mutex_);
  OutboundQueue queue_ ASSAY_GUARDED_BY(mutex_);
  v1::CoordinatorMessage writing_message_ ASSAY_GUARDED_BY(mutex_);
  bool writing_ ASSAY_GUARDED_BY(mutex_) = false;
  bool reading_ ASSAY_GUARDED_BY(mutex_) = false;
  bool session_full_ ASSAY_GUARDED_BY(mutex_) = false;
  bool broken_ ASSAY_GUARDED_BY(mutex_) = false;
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
  std::optional<Status> closing_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::rpc
