#include "wire/tls_socket.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "common/text.h"
#include "wire/proxy.h"

namespace assay::rpc {
namespace {

constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kMaxProxyHeadBytes = 16 << 10;
// A TLS record begins with its type and the major version.
constexpr char kFirstRecordType = 20;
constexpr char kLastRecordType = 23;
constexpr char kTlsMajorVersion = 3;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = 0;
};

Status Unreachable(const HostPort& address, const std::string& why) {
  return Unavailable("cannot reach " + address.ToString() + ": " + why, Reason::kUnreachable);
}

// Returns the milliseconds until `deadline` for poll(2), rounded up.
int MillisecondsLeft(MonotonicTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::Real().Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

// Waits until the socket is ready. Returns false at the deadline.
bool AwaitReady(int socket, short events, MonotonicTime deadline) {
  pollfd wanted{socket, events, 0};
  while (true) {
    const int ready = ::poll(&wanted, 1, MillisecondsLeft(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

struct Resolved {
  std::vector<SocketAddress> addresses;
  int error = 0;
};

Resolved ResolveNow(const HostPort& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  Resolved resolved;
  resolved.error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress& added = resolved.addresses.emplace_back();
    std::memcpy(&added.storage, one->ai_addr, one->ai_addrlen);
    added.size = one->ai_addrlen;
    added.family = one->ai_family;
  }
  if (found != nullptr) ::freeaddrinfo(found);
  return resolved;
}

Result<std::vector<SocketAddress>> Resolve(const HostPort& address, MonotonicTime deadline) {
  // Resolve on a separate thread, because the system's resolver accepts no deadline.
  std::packaged_task<Resolved()> task([address] { return ResolveNow(address); });
  std::future<Resolved> future = task.get_future();
  std::thread(std::move(task)).detach();
  if (future.wait_until(deadline) != std::future_status::ready) {
    return Unreachable(address, "its name could not be resolved in time");
  }
  Resolved resolved = future.get();
  if (resolved.error != 0) return Unreachable(address, ::gai_strerror(resolved.error));
  return std::move(resolved.addresses);
}

// Returns 0 or an errno.
int ConnectTo(int socket, const SocketAddress& address, MonotonicTime deadline) {
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket, generic, address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!AwaitReady(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Result<FileDescriptor> ConnectTcp(const HostPort& address, MonotonicTime deadline) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<SocketAddress> addresses, Resolve(address, deadline));
  int error = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    // Give each address an equal share of the remaining time, so that an unresponsive address
    // leaves time for the others.
    const MonotonicTime now = Clock::Real().Now();
    const MonotonicTime next = now + (deadline - now) / static_cast<int>(addresses.size() - i);
    FileDescriptor socket(
        ::socket(addresses[i].family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = socket.valid() ? ConnectTo(socket.get(), addresses[i], next) : errno;
    if (error == 0) return socket;
  }
  return Unreachable(address, std::strerror(error));
}

std::string Base64(const std::string& bytes) {
  std::vector<unsigned char> text((bytes.size() + 2) / 3 * 4 + 1);
  const int size =
      EVP_EncodeBlock(text.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  return std::string(reinterpret_cast<const char*>(text.data()), static_cast<size_t>(size));
}

bool IsIpAddress(const std::string& host) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();
  return address != nullptr;
}

TlsOutcome Failed(TlsFailure failure, std::string message) {
  return {failure, 0, std::move(message)};
}

}  // namespace

Result<TlsSocket> TlsSocket::Connect(const HostPort& address, MonotonicTime deadline) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Proxy> proxy, ProxyFor(address));
  const HostPort& first = proxy ? proxy->address : address;
  Result<FileDescriptor> socket = ConnectTcp(first, deadline);
  if (!socket.ok()) {
    return proxy ? socket.status().WithContext("the proxy of https_proxy") : socket.status();
  }
  TlsSocket connection(*std::move(socket), deadline);
  if (proxy) {
    ASSAY_RETURN_IF_ERROR(connection.OpenTunnel(address, proxy->credentials)
                              .WithContext("the proxy " + proxy->address.ToString()));
  }
  return connection;
}

Status TlsSocket::OpenTunnel(const HostPort& target, const std::string& credentials) {
  std::string request = "CONNECT " + target.ToString() + " HTTP/1.1\r\nHost: " + target.ToString();
  if (!credentials.empty()) {
    request += "\r\nProxy-Authorization: Basic " + Base64(credentials);
  }
  const auto unreachable = [&](const std::string& why) {
    return Unreachable(target, why).WithHint("check https_proxy, or except the host by no_proxy");
  };
  if (const TlsOutcome sent = Send(request + "\r\n\r\n"); !sent.ok()) {
    return unreachable(sent.message);
  }
  std::string head;
  // Receive the head of the proxy's response. No bytes from the server can follow it yet, because a
  // TLS server sends nothing before the client does.
  while (head.find("\r\n\r\n") == head.npos) {
    std::string part;
    const TlsOutcome received = Receive(&part);
    if (!received.ok()) return unreachable(received.message);
    if (part.empty()) return unreachable("the proxy closed the connection");
    head += part;
    if (head.size() > kMaxProxyHeadBytes) return unreachable("its answer is too long");
  }
  first_bytes_.clear();
  const std::string line = head.substr(0, head.find("\r\n"));
  if (line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ' && line[9] == '2') {
    return Status::Ok();
  }
  if (line.find(" 407") != line.npos) {
    return Unreachable(target, "it needs a user and password")
        .WithHint("set https_proxy to http://USER:PASSWORD@HOST:PORT");
  }
  return unreachable("it answered " + Quote(line));
}

TlsOutcome TlsSocket::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!AwaitReady(socket_.get(), POLLOUT, deadline_)) {
        return Failed(TlsFailure::kTimeout, "timed out");
      }
    } else if (errno != EINTR) {
      return Failed(TlsFailure::kClosed, std::strerror(errno));
    }
  }
  return {};
}

TlsOutcome TlsSocket::Receive(std::string* bytes) {
  bytes->resize(kReadBytes);
  while (true) {
    // Check the deadline before every read. Otherwise, a peer that keeps sending data could hold up
    // the caller past the deadline.
    if (Clock::Real().Now() >= deadline_) return Failed(TlsFailure::kTimeout, "timed out");
    const ssize_t got = ::recv(socket_.get(), bytes->data(), bytes->size(), 0);
    if (got >= 0) {
      bytes->resize(static_cast<size_t>(got));
      if (first_bytes_.empty()) first_bytes_ = bytes->substr(0, 64);
      return {};
    }
    if (errno == EAGAIN) {
      if (!AwaitReady(socket_.get(), POLLIN, deadline_)) {
        return Failed(TlsFailure::kTimeout, "timed out");
      }
    } else if (errno != EINTR) {
      return Failed(TlsFailure::kClosed, std::strerror(errno));
    }
  }
}

// Sends what OpenSSL has written into memory.
TlsOutcome TlsSocket::Flush() {
  BIO* const out = SSL_get_wbio(ssl_.get());
  std::string bytes(BIO_pending(out), '\0');
  if (bytes.empty()) return {};
  BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return Send(bytes);
}

TlsOutcome TlsSocket::WhyFailed() {
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const char* const words = ERR_reason_error_string(error);
  const std::string message = words != nullptr ? words : "OpenSSL gave no reason";
  ERR_clear_error();
  const bool tls = first_bytes_.empty() ||
                   (first_bytes_[0] >= kFirstRecordType && first_bytes_[0] <= kLastRecordType &&
                    (first_bytes_.size() < 2 || first_bytes_[1] == kTlsMajorVersion));
  if (!tls) return Failed(TlsFailure::kNotTls, message);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return Failed(TlsFailure::kUntrusted, message);
  if (reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255) {
    return {TlsFailure::kAlert, reason - SSL_AD_REASON_OFFSET, message};
  }
  return Failed(TlsFailure::kOther, message);
}

// Repeats `operation`, an OpenSSL call, until it succeeds, fails or reaches the end of the stream.
// OpenSSL reads from and writes to memory, not the socket. So after each attempt, this function
// sends what OpenSSL has written, and receives more input if OpenSSL needs it.
template <typename Operation>
TlsOutcome TlsSocket::Drive(const Operation& operation) {
  while (true) {
    ERR_clear_error();
    const int result = operation();
    const int error = SSL_get_error(ssl_.get(), result);
    TlsOutcome why;
    if (result <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_ZERO_RETURN) {
      why = WhyFailed();
    }
    // Flush even after a failure, so that the peer receives OpenSSL's alert.
    const TlsOutcome flushed = Flush();
    if (!why.ok()) return why;
    if (result > 0 || error == SSL_ERROR_ZERO_RETURN) return flushed;
    std::string bytes;
    const TlsOutcome received = Receive(&bytes);
    if (!received.ok()) return received;
    if (bytes.empty()) return Failed(TlsFailure::kClosed, "the server closed the connection");
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }
}

TlsOutcome TlsSocket::StartTls(SSL_CTX* context, const std::string& server_name) {
  ssl_.reset(SSL_new(context));
  if (!ssl_) return WhyFailed();
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_.get());
  if (!IsIpAddress(server_name)) SSL_set_tlsext_host_name(ssl_.get(), server_name.c_str());
  return Drive([this] { return SSL_do_handshake(ssl_.get()); });
}

TlsOutcome TlsSocket::Write(std::string_view bytes) {
  if (!ssl_) return Send(bytes);
  return Drive([&] { return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); });
}

TlsOutcome TlsSocket::Read(std::string* bytes) {
  if (!ssl_) return Receive(bytes);
  bytes->assign(kReadBytes, '\0');
  int got = 0;
  const TlsOutcome outcome = Drive([&] {
    got = SSL_read(ssl_.get(), bytes->data(), static_cast<int>(bytes->size()));
    return got;
  });
  bytes->resize(static_cast<size_t>(std::max(got, 0)));
  return outcome;
}

}  // namespace assay::rpc
