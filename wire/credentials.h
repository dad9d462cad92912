// Transport security for all gRPC servers and clients: TLS or mutual TLS, with certificates in PEM
// files. Unencrypted connections are allowed only on loopback addresses, or with the option
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
#include "wire/roles.h"

namespace assay::rpc {

// Paths of PEM files. Empty where not given.
struct TlsFiles {
  // This side's certificate chain and private key. Give both or neither.
  std::string certificate;
  std::string key;
  // Certificate authorities that must have signed the other side's certificate. If set, a server
  // accepts only clients with such a certificate (mutual TLS). If empty, a client trusts the
  // authorities of the operating system.
  std::string authorities;

  bool empty() const { return certificate.empty() && key.empty() && authorities.empty(); }
};

// Returns the identity in this side's certificate, or nothing if there is no certificate. Returns
// NO_IDENTITY if the certificate has no identity.
Result<std::optional<Identity>> OwnIdentity(const TlsFiles& files);

// Returns credentials for a server that listens on `address`. If `files` has authorities, clients
// must present a certificate of this server's fleet, and may call what wire/roles.h allows. Returns
// INVALID_ARGUMENT if one of the files cannot be used. Returns FAILED_PRECONDITION if there are no
// authorities and `address` is not a loopback address, unless `insecure` is true.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure);

// Returns credentials for a client that connects to `address`. Returns INVALID_ARGUMENT if one of
// the files cannot be used. Returns FAILED_PRECONDITION if no files are given and `address` is not
// a loopback address, unless `insecure` is true.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure);

// Applies the settings that all gRPC servers share:
// - The server pings clients every 30 s and closes a connection after 10 s without a reply, or
//   without a finished handshake.
// - Clients may send a ping every 15 s.
// - Messages may have up to 16 MiB and must not be compressed, because a few compressed bytes could
//   fill the memory.
// - All buffers together have up to 1 GiB.
void ApplyServerLimits(grpc::ServerBuilder& builder);

// Returns the settings that all gRPC clients share: messages may have up to 16 MiB, and the client
// pings the server every 30 s, even when no call is active.
grpc::ChannelArguments ClientArguments();

}  // namespace assay::rpc
