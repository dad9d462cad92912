// Reads the HTTP proxy to use from environment variables.
#pragma once

#include <optional>
#include <string>

#include "common/host_port.h"
#include "common/status.h"

namespace assay::rpc {

struct Proxy {
  HostPort address;
  std::string credentials;  // "USER:PASSWORD", or empty.
};

// Returns the proxy for TLS connections to `target`. The environment variable https_proxy or
// HTTPS_PROXY names the proxy, for example "http://user:password@proxy:3128". Returns nullopt if
// neither is set, or if no_proxy or NO_PROXY, which is a list of hosts and domains or "*", contains
// the target. Returns INVALID_ARGUMENT if the proxy cannot be parsed. The error does not contain
// the value of the variable, which may contain a password.
Result<std::optional<Proxy>> ProxyFor(const HostPort& target);

// Makes gRPC use the same proxy by setting the environment variable https_proxy. gRPC does not read
// HTTPS_PROXY, and it needs "http://" in the value. Call this before any thread is started.
void ShareProxyWithGrpc();

}  // namespace assay::rpc
