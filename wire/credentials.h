// Transport security for all gRPC servers and clients: TLS or mutual TLS, with certificates in PEM
// files. Unencrypted connections are allowed only on loopback addresses, or with the option
// --insecure.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "common/host_port.h"
#include "common/status.h"

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

// Returns credentials for a server that listens on `address`. Returns INVALID_ARGUMENT if one of
// the files cannot be used. Returns FAILED_PRECONDITION if no files are given and `address` is not
// a loopback address, unless `insecure` is true.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure);

// Returns credentials for a client that connects to `address`. Returns the same errors as
// ServerCredentials.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure);

// Applies the settings that all gRPC servers share:
// - The server pings clients every 30 s and closes a connection after 10 s without a reply.
// - Clients may send a ping every 15 s.
// - Messages may have up to 16 MiB.
// - A second server on the same port fails to start instead of sharing the port.
void ApplyServerLimits(grpc::ServerBuilder& builder);

// Returns the settings that all gRPC clients share: messages may have up to 16 MiB, and the client
// pings the server every 30 s, even when no call is active.
grpc::ChannelArguments ClientArguments();

}  // namespace assay::rpc
