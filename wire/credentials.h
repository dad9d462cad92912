// Transport security of every gRPC server and client: TLS or mutual TLS from PEM files. Plaintext
// is allowed on loopback, and elsewhere only with --insecure.
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
  // Authorities that sign the other side's certificate. A server with authorities requires clients
  // to present a certificate (mutual TLS). A client without authorities uses those of the system.
  std::string authorities;

  bool empty() const { return certificate.empty() && key.empty() && authorities.empty(); }
};

// Returns credentials for a server that listens on `address`. FAILED_PRECONDITION for plaintext on
// an address that is not loopback, unless `insecure`. INVALID_ARGUMENT names the file that cannot
// be used.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure);

// Returns credentials for a client that connects to `address`. The errors are those of
// ServerCredentials.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure);

// Sets the limits that all servers share. A server pings every 30 s and closes a connection after
// 10 s without an answer. Clients may ping every 15 s. Messages have up to 16 MiB. A second server
// on the same port fails instead of sharing it.
void ApplyServerLimits(grpc::ServerBuilder& builder);

// Returns the limits that all clients share: pings every 30 s, even without calls, and messages of
// up to 16 MiB.
grpc::ChannelArguments ClientArguments();

}  // namespace assay::rpc
