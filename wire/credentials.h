// Transport security for all gRPC servers and clients: TLS or mutual TLS, with certificates in PEM
// files. Unencrypted connections are allowed only on loopback addresses or with the option
// --insecure.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <optional>
#include <string>

#include "common/host_port.h"
#include "common/status.h"
#include "wire/access.h"
#include "wire/roles.h"

namespace assay::rpc {

// Paths of PEM files. Empty where not given.
struct TlsFiles {
  // This side's certificate chain and private key. Give both or neither.
  std::string certificate;
  std::string key;
  // The certificate authorities, one of which must have signed the peer's certificate. If set, a
  // server accepts only clients with such a certificate (mutual TLS). If empty, a client trusts the
  // operating system's authorities.
  std::string authorities;

  bool empty() const { return certificate.empty() && key.empty() && authorities.empty(); }
};

// Returns the identity in this program's certificate, or nullopt if `files` has no certificate.
// Returns an error with reason NO_IDENTITY if the certificate contains no identity.
Result<std::optional<Identity>> OwnIdentity(const TlsFiles& files);

// Returns credentials for a server that listens on `address`. `files.authorities` decides who may
// call the server:
// - If set, only clients with a certificate of this server's fleet. Each call must be allowed for
//   the client's role (see wire/roles.h) and, if `check` is given, must pass that check.
// - If empty, any client. In that case, returns FAILED_PRECONDITION unless `address` is a loopback
//   address or `insecure` is true.
// Returns INVALID_ARGUMENT if any of the files cannot be used.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure,
                                                                   CallerCheck check = {});

// Returns credentials for a client that connects to `address`. Without any files, the connection is
// not encrypted. In that case, returns FAILED_PRECONDITION unless `address` is a loopback address
// or `insecure` is true. Returns INVALID_ARGUMENT if any of the files cannot be used.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure);

// Applies the settings that all gRPC servers share:
// - The server pings clients every 30 s. It closes a connection if a ping gets no reply within
//   10 s, or if the handshake takes longer than 10 s.
// - Clients may ping every 15 s.
// - Messages may be up to 16 MiB. They must not be compressed, because a small compressed message
//   could expand to fill the memory.
// - All buffers together may take up to 1 GiB.
void ApplyServerLimits(grpc::ServerBuilder& builder);

// Returns the settings that all gRPC clients share. Messages may be up to 16 MiB. The client pings
// the server every 30 s, even while no call is active.
grpc::ChannelArguments ClientArguments();

}  // namespace assay::rpc
