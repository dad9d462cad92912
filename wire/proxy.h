// The HTTP proxy of this process's environment.
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

// Returns the proxy for TLS connections to `target`, from https_proxy or HTTPS_PROXY, such as
// "http://user:password@proxy:3128". Returns nullopt if there is none, or if no_proxy or NO_PROXY
// names the target: a list of hosts and domains, or "*". Returns INVALID_ARGUMENT if the variable
// cannot be parsed; the message does not repeat it, because it may have a password.
Result<std::optional<Proxy>> ProxyFor(const HostPort& target);

// Sets https_proxy for gRPC, which does not read HTTPS_PROXY and needs "http://" in the value. Call
// this before any thread is started.
void ShareProxyWithGrpc();

}  // namespace assay::rpc
