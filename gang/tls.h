// Encrypts the control connections of a gang with TLS 1.3. Instead of certificates, both ends prove
// that they know the gang's key (an external pre-shared key, RFC 8446).
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "gang/socket.h"

namespace assay {

// The settings that all control connections of a gang share. Must outlive their handshakes.
class GangTls {
 public:
  // Only who knows `key` can take part. The key must be random, with at least 128 bits.
  static Result<std::unique_ptr<GangTls>> Create(const std::string& key);
  virtual ~GangTls() = default;

  // Encrypts a connection that this process opened. Returns once the other end has proven the key.
  // Returns PEER_LOST if the other end does not know it.
  virtual Status Connect(Socket* socket, MonotonicTime deadline) const = 0;
  // Encrypts a connection that this process accepted, without waiting. The other end proves the key
  // before ReceiveSome() returns any byte. ReceiveSome() fails if the other end does not know it.
  virtual Status Accept(Socket* socket) const = 0;
};

}  // namespace assay
