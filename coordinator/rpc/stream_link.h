// Connects a session with the gRPC reactor of its stream; either side may have opened the
// connection. Keeps one read and one write in flight, queues outgoing messages, and ends streams in
// order.
//
//   +------+  Close, or the peer ended  +---------+  nothing left to   +----------+
//   | open | -------------------------> | closing | -----------------> | finished |
//   +------+                            +---------+  write, or broken  +----------+
//                                                                           | OnDone
//                                                                           v
//                                                                       detached
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/v1/session.pb.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/sessions/session.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator::rpc {

// A FIFO queue of messages to one agent. A new message replaces a queued one with the same purpose,
// such as an older lease renewal or an older assignment of the same job. Therefore, if an agent
// stops reading, its queue grows only with the answers to its own requests. Not thread-safe.
class OutboundQueue {
 public:
  void Push(v1::CoordinatorMessage message);
  std::optional<v1::CoordinatorMessage> Pop();
  size_t size() const { return queue_.size(); }
  void Clear() { queue_.clear(); }

 private:
  struct Item {
    std::string key;  // Equal for messages with the same purpose. Empty: never replaced.
    v1::CoordinatorMessage message;
  };
  std::deque<Item> queue_;
};

// Returns the IP address in `uri`, which is a peer's name in gRPC's format, such as
// "ipv4:10.0.0.7:40312". Returns an empty string if the peer has no IP address, for example because
// it uses a local socket.
std::string AddressOfPeer(std::string_view uri);

// The gRPC stream operations needed by StreamLink. They must return immediately and must not call
// back into the StreamLink on the same thread.
class StreamOperations {
 public:
  virtual ~StreamOperations() = default;
  // Starts a read, which ends with OnReadDone.
  virtual void Read() = 0;
  // Starts a write of `message`, which must live until OnWriteDone.
  virtual void Write(const v1::CoordinatorMessage* message) = 0;
  // Returns the identity of the peer. Called only after a message has arrived from the peer.
  virtual Identity Peer() const = 0;
  // Returns the peer's address in gRPC's format, such as "ipv4:10.0.0.7:40312" or
  // "ipv6:%5B::1%5D:40312". Returns an empty string if the peer is a proxy.
  virtual std::string PeerUri() const = 0;
  // Ends the stream. Called only once. After that, only Cancel may be called.
  virtual void Finish(const Status& status) = 0;
  // Breaks the stream off, even if the peer does not read.
  virtual void Cancel() = 0;
};

// The link between a session and the gRPC reactor of its stream. The session sends its messages
// through the link, and shares ownership of it with the reactor. Thread-safe.
class StreamLink : public SessionSink {
 public:
  // `operations` is used until OnDone.
  explicit StreamLink(StreamOperations* operations) : operations_(operations) {}

  // Sets the link's session and starts to read. Call once, before any other method.
  void Start(std::shared_ptr<Session> session);

  Identity Peer() override;
  std::string PeerAddress() override;
  void Send(v1::CoordinatorMessage message) override;
  void ReadMore() override;
  void Close(const Status& status) override;

  // Ends the stream if no message has come from the peer yet.
  void RequireMessage();
  // Breaks the stream off unless it has ended.
  void Cancel();

  // Handle the reactor's events. `message` is the message that was read.
  void OnReadDone(bool ok, v1::AgentMessage message);
  void OnWriteDone(bool ok);
  // Handles the loss of the connection. Drops the queued messages, because they can never be sent.
  void OnBroken();
  void OnDone();

 private:
  void BeginClosing(const Status& status) ASSAY_REQUIRES(mutex_);
  // Starts the operations that are possible now.
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
  bool received_ ASSAY_GUARDED_BY(mutex_) = false;
  bool finished_ ASSAY_GUARDED_BY(mutex_) = false;
  std::optional<Status> closing_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::rpc
