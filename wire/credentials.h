// Transport security, the same for every port of ours: TLS or mutual TLS from
// PEM files, plaintext only on loopback or by explicit wish.
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

// Paths of PEM files; empty where not given.
struct TlsFiles {
  // This side's certificate chain and private key: both or neither.
  std::string certificate;
  std::string key;
  // Authorities that the other side's certificate must chain to. On a server:
  // clients must present one (mutual TLS). On a client: whom to believe.
  std::string authorities;

  bool empty() const { return certificate.empty() && key.empty() && authorities.empty(); }
};

// Credentials of a server that listens on `address`. Refuses plaintext on an
// address that is not loopback, unless `insecure`.
Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure);

// Credentials of a client that dials `address`; the same rule for plaintext.
Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure);

// Keepalive, message size and connection limits that every server of ours has:
// pings every 30 s with 10 s to answer, peers may ping every 15 s, messages up to
// 16 MiB; a second server on the same port is refused rather than sharing it.
void ApplyServerLimits(grpc::ServerBuilder& builder);

// The client's half of the same: pings every 30 s, also without calls.
grpc::ChannelArguments ClientArguments();

}  // namespace assay::rpc
