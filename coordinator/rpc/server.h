// The coordinator's gRPC server with its four services, health and reflection.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <vector>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "coordinator/rpc/dialer.h"
#include "wire/credentials.h"

namespace assay::coordinator::rpc {

struct ServerOptions {
  HostPort listen;  // Port 0 selects a free one.
  assay::rpc::TlsFiles tls;
  assay::rpc::TlsFiles agent_tls;  // For dialling agents.
  bool insecure = false;
  Calls::Counter counter;
};

// Thread-safe.
class Server {
 public:
  // Starts serving. The coordinator outlives the server. The error names the address and why
  // listening failed.
  static Result<std::unique_ptr<Server>> Start(Coordinator& coordinator, ServerOptions options);
  ~Server();

  // Returns the listening address with the actual port.
  const HostPort& address() const { return address_; }
  Dialer& dialer() { return dialer_; }

  // Closes agents' sessions, ends every stream, and returns when all calls have ended, after
  // `patience` at the latest. Idempotent. The executor must run meanwhile.
  void Shutdown(Duration patience);

 private:
  Server(Coordinator& coordinator, ServerOptions options);

  Coordinator& coordinator_;
  HostPort address_;
  const Calls calls_;
  Dialer dialer_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace assay::coordinator::rpc
