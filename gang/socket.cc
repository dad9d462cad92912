#include "gang/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace assay {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status SystemError(const std::string& what) {
  return Unavailable(what + ": " + std::strerror(errno), Reason::kNetwork);
}

Result<AddressList> Resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Unavailable("cannot resolve \"" + host + "\": " + gai_strerror(error), Reason::kNetwork);
  }
  return AddressList(found, &freeaddrinfo);
}

Socket NewSocket(const addrinfo& address) {
  return Socket(socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                       address.ai_protocol));
}

constexpr int kUnansweredMillis = 11'000;

// Sets an option that helps but is not required; an error is ignored.
void SetIfPossible(const Socket& socket, int level, int name, int value) {
  setsockopt(socket.fd(), level, name, &value, sizeof value);
}

// Returns the status of a connection that ended with `errno`.
Status Lost() {
  return errno == ETIMEDOUT ? Status(Code::kDeadlineExceeded, Reason::kPeerUnreachable,
                                     "the host at the other end has not answered")
                            : PeerLost(std::strerror(errno));
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Status PeerLost(std::string message) {
  return Status(Code::kUnavailable, Reason::kPeerLost, std::move(message));
}

Status PeerTimeout(std::string message) {
  return Status(Code::kDeadlineExceeded, Reason::kPeerTimeout, std::move(message));
}

void NoticeSilence(const Socket& socket) {
  NoticeSilentHost(socket);
  SetIfPossible(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMillis);
}

// Turns on TCP keep-alive, which closes the connection after 5 s of silence and three probes 2 s
// apart. This takes 11 s in total, the same as kUnansweredMillis.
void NoticeSilentHost(const Socket& socket) {
  SetIfPossible(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetIfPossible(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  SetIfPossible(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  SetIfPossible(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void Reset(const Socket& socket) {
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  if (connect(socket.fd(), &nowhere, sizeof nowhere) != 0) shutdown(socket.fd(), SHUT_RDWR);
}

Result<Socket> ListenOn(const std::string& host, int* port) {
  ASSAY_ASSIGN_OR_RETURN(const AddressList addresses, Resolve(host, 0, AI_PASSIVE));
  Socket listener = NewSocket(*addresses);
  if (!listener.valid()) return SystemError("socket");
  if (bind(listener.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.fd(), 128) != 0) {
    return SystemError("cannot listen on " + host);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return SystemError("getsockname");
  }
  *port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return listener;
}

Result<Socket> AcceptWaiting(const Socket& listener) {
  Socket accepted(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (accepted.valid()) {
    SendAtOnce(accepted.fd());
    return accepted;
  }
  // An error of one connection does not affect the listener.
  const bool listener_is_fine = errno != EBADF && errno != EINVAL && errno != ENOTSOCK;
  if (listener_is_fine) return Socket();
  return SystemError("accept");
}

std::string AddressOfPeer(const Socket& socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  char host[NI_MAXHOST] = "";
  auto* const address = reinterpret_cast<sockaddr*>(&peer);
  if (getpeername(socket.fd(), address, &size) != 0) return "";
  getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

Result<Socket> ConnectTo(const std::string& host, int port, MonotonicTime deadline) {
  ASSAY_ASSIGN_OR_RETURN(const AddressList addresses, Resolve(host, port, 0));
  Socket socket = NewSocket(*addresses);
  if (!socket.valid()) return SystemError("socket");
  const std::string where = host + ":" + std::to_string(port);
  if (connect(socket.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return SystemError("cannot connect to " + where);
    ASSAY_RETURN_IF_ERROR(WaitFor(socket.fd(), POLLOUT, deadline).WithContext(where));
    socklen_t size = sizeof errno;
    if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &errno, &size) != 0 || errno != 0) {
      return SystemError("cannot connect to " + where);
    }
  }
  SendAtOnce(socket.fd());
  return socket;
}

int PollMillis(MonotonicTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::Real().Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

Status WaitFor(int fd, short events, MonotonicTime deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, PollMillis(deadline));
    if (ready > 0) return Status::Ok();
    if (ready < 0 && errno != EINTR) return SystemError("poll");
    if (Clock::Real().Now() >= deadline) return PeerTimeout("no answer in time");
  }
}

Result<size_t> ReceiveSome(const Socket& socket, void* data, size_t size) {
  Cipher* const cipher = socket.cipher();
  return cipher == nullptr ? ReceiveFrom(socket.fd(), data, size) : cipher->Receive(data, size);
}

Result<size_t> SendSome(const Socket& socket, const void* data, size_t size) {
  Cipher* const cipher = socket.cipher();
  return cipher == nullptr ? SendTo(socket.fd(), data, size) : cipher->Send(data, size);
}

Result<size_t> ReceiveFrom(int fd, void* data, size_t size) {
  const ssize_t got = recv(fd, data, size, 0);
  if (got > 0) return static_cast<size_t>(got);
  if (got == 0) return PeerLost("the connection was closed");
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return size_t{0};
  return Lost();
}

Result<size_t> SendTo(int fd, const void* data, size_t size) {
  const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return size_t{0};
  return Lost();
}

Status ReceiveAll(const Socket& socket, void* data, size_t size, MonotonicTime deadline) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    ASSAY_ASSIGN_OR_RETURN(const size_t got, ReceiveSome(socket, at, size));
    at += got;
    size -= got;
    if (got == 0) ASSAY_RETURN_IF_ERROR(WaitFor(socket.fd(), POLLIN, deadline));
  }
  return Status::Ok();
}

Status SendAll(const Socket& socket, const void* data, size_t size, MonotonicTime deadline) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    ASSAY_ASSIGN_OR_RETURN(const size_t sent, SendSome(socket, at, size));
    at += sent;
    size -= sent;
    if (sent == 0) ASSAY_RETURN_IF_ERROR(WaitFor(socket.fd(), POLLOUT, deadline));
  }
  return Status::Ok();
}

}  // namespace assay
