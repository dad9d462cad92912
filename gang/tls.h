// Encrypts the control connections of a gang with TLS 1.3. Instead of certificates, both ends prove
// that they know the gang's key (an external pre-shared key, RFC 8446).
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "gang/socket.h"

namespace assay {

// The TLS settings shared by all control connections of a gang. This object must outlive the
// handshakes of these connections.
class GangTls {
 public:
  // Only processes that know `key` can take part. The key must be random, with at least 128 bits.
  static Result<std::unique_ptr<GangTls>> Create(const std::string& key);
  virtual ~GangTls() = default;

  // Encrypts a connection opened by this process. Blocks until the other end has proven that it
  // knows the key. Returns PEER_LOST if it does not.
  virtual Status Connect(Socket* socket, MonotonicTime deadline) const = 0;
  // Encrypts a connection accepted by this process. Does not wait for the handshake, which
  // ReceiveSome() completes. Unless the other end proves that it knows the key, ReceiveSome() fails
  // without returning any data.
  virtual Status Accept(Socket* socket) const = 0;
};

}  // namespace assay
