// TCP connections on which TLS can be started, for the few exchanges that do not go through gRPC.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay::rpc {

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// Why a TLS connection failed.
enum class TlsFailure {
  kNone,
  kTimeout,    // The peer did not answer before the deadline.
  kClosed,     // The peer closed the connection.
  kNotTls,     // The peer sent something that is no TLS.
  kUntrusted,  // The peer's certificate was not accepted here; see SSL_get_verify_result.
  kAlert,      // The peer ended the connection with an alert.
  kOther,
};

struct TlsOutcome {
  TlsFailure failure = TlsFailure::kNone;
  int alert = 0;        // SSL_AD_* of kAlert.
  std::string message;  // OpenSSL's words.
  bool ok() const { return failure == TlsFailure::kNone; }
};

// A connection to a server, through the proxy specified by environment variables, if any (see
// wire/proxy.h). No call blocks past the deadline of the connection. Until StartTls is called,
// bytes are sent and received unencrypted. Not thread-safe.
class TlsSocket {
 public:
  // Connects to `address`. Returns UNAVAILABLE with reason UNREACHABLE if the server cannot be
  // reached or the proxy refuses to connect.
  static Result<TlsSocket> Connect(const HostPort& address, MonotonicTime deadline);

  // Does the handshake as a client.
  TlsOutcome StartTls(SSL_CTX* context, const std::string& server_name);
  // Sends all of `bytes`.
  TlsOutcome Write(std::string_view bytes);
  // Sets `bytes` to the next bytes received, at most 16 KiB, or to an empty string at the end of
  // the stream. With TLS, returns kClosed if the server closed the connection without announcing
  // the end of the stream.
  TlsOutcome Read(std::string* bytes);

  // Returns OpenSSL's state of the connection. May be called only after StartTls, even if that
  // failed.
  SSL* ssl() const { return ssl_.get(); }
  // Returns the first bytes that the server sent, as they were on the network.
  const std::string& first_bytes() const { return first_bytes_; }

 private:
  TlsSocket(FileDescriptor socket, MonotonicTime deadline)
      : socket_(std::move(socket)), deadline_(deadline) {}

  Status OpenTunnel(const HostPort& target, const std::string& credentials);
  TlsOutcome Send(std::string_view bytes);
  TlsOutcome Receive(std::string* bytes);
  template <typename Operation>
  TlsOutcome Drive(const Operation& operation);
  TlsOutcome Flush();
  TlsOutcome WhyFailed();

  FileDescriptor socket_;
  MonotonicTime deadline_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  std::string first_bytes_;
};

}  // namespace assay::rpc
