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

// Returns the next connection, or an invalid Socket if none is waiting.
Result<Socket> AcceptWaiting(const Socket& listener);

// Makes one attempt.
Result<Socket> ConnectTo(const std::string& host, int port, MonotonicTime deadline);

// Ends the connection about ten seconds after its host stops answering, even if nothing is sent on
// it.
void NoticeSilence(const Socket& socket);

// Does the same, but only while nothing is sent. Sent data may wait for as long as the other end
// does not read it, whereas NoticeSilence then ends the connection.
void NoticeSilentHost(const Socket& socket);

// Ends a connection at both ends at once, even if the other end waits for this end to read. After a
// mere shutdown it would wait until NoticeSilence ends the connection.
void Reset(const Socket& socket);

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT) or has ended.
Status WaitFor(int fd, short events, MonotonicTime deadline);

// Returns the milliseconds for poll() until `deadline`, rounded up; 0 if it has passed.
int PollMillis(MonotonicTime deadline);

// Returns the available bytes, up to `size`; 0 if there are none yet.
Result<size_t> ReceiveSome(const Socket& socket, void* data, size_t size);
// Sends as much as fits now and returns its size; 0 if nothing fits.
Result<size_t> SendSome(const Socket& socket, const void* data, size_t size);

Status ReceiveAll(const Socket& socket, void* data, size_t size, MonotonicTime deadline);
Status SendAll(const Socket& socket, const void* data, size_t size, MonotonicTime deadline);

}  // namespace assay
