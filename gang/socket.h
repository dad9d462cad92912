// TCP sockets with deadlines. All descriptors are non-blocking, and functions wait with poll(). If
// the connection fails, they return one of these errors:
//   PEER_LOST (UNAVAILABLE)               The other end closed the connection.
//   PEER_TIMEOUT (DEADLINE_EXCEEDED)      The other end did not answer in time.
//   PEER_UNREACHABLE (DEADLINE_EXCEEDED)  The other host stopped answering.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// A cipher that encrypts and decrypts all bytes that pass through a socket.
class Cipher {
 public:
  virtual ~Cipher() = default;
  // Receive and send bytes like ReceiveSome() and SendSome(), without blocking. Not thread-safe.
  virtual Result<size_t> Receive(void* data, size_t size) = 0;
  virtual Result<size_t> Send(const void* data, size_t size) = 0;
};

// A socket's file descriptor, which is closed when the object is destroyed.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), cipher_(std::move(other.cipher_)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(cipher_, other.cipher_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Lets `cipher`, which uses this descriptor, encrypt everything from now on.
  void Encrypt(std::unique_ptr<Cipher> cipher) { cipher_ = std::move(cipher); }
  // Returns null if the connection is not encrypted.
  Cipher* cipher() const { return cipher_.get(); }

 private:
  int fd_ = -1;
  std::unique_ptr<Cipher> cipher_;
};

Status PeerLost(std::string message);
Status PeerTimeout(std::string message);

// Listens on a free port of `host` and stores it in `port`.
Result<Socket> ListenOn(const std::string& host, int* port);

// Returns the next connection, or an invalid Socket if none is waiting.
Result<Socket> AcceptWaiting(const Socket& listener);

// Returns the other end's numeric address without the port; empty if the connection has ended.
std::string AddressOfPeer(const Socket& socket);

// Connects to a listening socket with a single attempt.
Result<Socket> ConnectTo(const std::string& host, int port, MonotonicTime deadline);

// Makes the kernel close the connection about ten seconds after the other host stops answering,
// even if nothing is being sent.
void NoticeSilence(const Socket& socket);

// Like NoticeSilence(), but has no effect while data is being sent. Use this if the other end may
// leave data unread for a long time, because NoticeSilence() would then close a healthy connection.
void NoticeSilentHost(const Socket& socket);

// Aborts the connection immediately at both ends. A shutdown() would not be enough: if the other
// end is waiting to send more data, it would keep waiting until NoticeSilence() takes effect.
void Reset(const Socket& socket);

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT) or has ended.
Status WaitFor(int fd, short events, MonotonicTime deadline);

// Returns the milliseconds for poll() until `deadline`, rounded up; 0 if it has passed.
int PollMillis(MonotonicTime deadline);

// Returns the available bytes, up to `size`; 0 if there are none yet.
Result<size_t> ReceiveSome(const Socket& socket, void* data, size_t size);
// Sends as much as fits now and returns its size; 0 if nothing fits.
Result<size_t> SendSome(const Socket& socket, const void* data, size_t size);

// These functions behave like the two above, but use a plain descriptor, without encryption.
Result<size_t> ReceiveFrom(int fd, void* data, size_t size);
Result<size_t> SendTo(int fd, const void* data, size_t size);

Status ReceiveAll(const Socket& socket, void* data, size_t size, MonotonicTime deadline);
Status SendAll(const Socket& socket, const void* data, size_t size, MonotonicTime deadline);

}  // namespace assay
