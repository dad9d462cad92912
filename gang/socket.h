// TCP with deadlines. Every descriptor is non-blocking; waiting is poll().
//
// Errors: UNAVAILABLE (PEER_LOST) when the other end closed the connection, DEADLINE_EXCEEDED
// (PEER_TIMEOUT) when it did not answer in time, DEADLINE_EXCEEDED (PEER_UNREACHABLE) when its host
// stopped answering.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

Status PeerLost(std::string message);
Status PeerTimeout(std::string message);

// Listens on a free port of `host` and stores it in `port`.
Result<Socket> ListenOn(const std::string& host, int* port);

// The next connection, or an invalid Socket if none is waiting.
Result<Socket> AcceptWaiting(const Socket& listener);

// One attempt.
Result<Socket> ConnectTo(const std::string& host, int port, MonotonicTime deadline);

// From now on a host that stops answering ends the connection after about ten seconds,
// though nothing is said on it.
void NoticeSilence(const Socket& socket);

// The same while nothing is sent. Data may wait for as long as the other end does not read it,
// where NoticeSilence ends the connection.
void NoticeSilentHost(const Socket& socket);

// Ends a connection at both ends at once, also where the other end waits until data that is unread
// here makes room: after a mere shutdown it would wait until NoticeSilence ends it.
void Reset(const Socket& socket);

// Until `fd` is ready for `events` (POLLIN, POLLOUT) or at its end.
Status WaitFor(int fd, short events, MonotonicTime deadline);

// Milliseconds for poll() until `deadline`, rounded up; 0 if it has passed.
int PollMillis(MonotonicTime deadline);

// Returns the available bytes, up to `size`; 0 if there are none yet.
Result<size_t> ReceiveSome(const Socket& socket, void* data, size_t size);
// As much as fits now: 0 if nothing does.
Result<size_t> SendSome(const Socket& socket, const void* data, size_t size);

Status ReceiveAll(const Socket& socket, void* data, size_t size, MonotonicTime deadline);
Status SendAll(const Socket& socket, const void* data, size_t size, MonotonicTime deadline);

}  // namespace assay
