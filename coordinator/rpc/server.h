// The coordinator's gRPC server with its four services, health and reflection.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "coordinator/rpc/campaign_service.h"
#include "coordinator/rpc/dialer.h"
#include "coordinator/rpc/fleet_service.h"
#include "coordinator/rpc/node_service.h"
#include "coordinator/rpc/result_service.h"
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
  FleetServiceImpl fleet_;
  CampaignServiceImpl campaigns_;
  NodeServiceImpl nodes_;
  ResultServiceImpl results_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace assay::coordinator::rpc
