// The coordinator's gRPC server with its services, health and reflection.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <vector>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "coordinator/rpc/dialer.h"
#include "coordinator/rpc/identity_service.h"
#include "wire/acceptor.h"
#include "wire/credentials.h"

namespace assay::coordinator::rpc {

struct ServerOptions {
  HostPort listen;  // Port 0 selects a free one.
  // Used instead of `listen` if set.
  std::unique_ptr<assay::rpc::Acceptor> acceptor;
  assay::rpc::TlsFiles tls;
  assay::rpc::TlsFiles agent_tls;  // For dialing agents.
  bool insecure = false;
  // Null if the coordinator has no authority. Must outlive the server.
  const Membership* membership = nullptr;
  Calls::Counter counter;
};

// The coordinator's gRPC server, with the sessions of agents and the calls of users. Thread-safe.
class Server {
 public:
  // Starts the gRPC server. `coordinator` must outlive it. If the server cannot listen, the error
  // contains the address and the reason.
  static Result<std::unique_ptr<Server>> Start(Coordinator& coordinator, ServerOptions options);
  ~Server();

  // Returns the listening address with the actual port.
  const HostPort& address() const { return address_; }
  Dialer& dialer() { return dialer_; }
  // Returns a channel for callers in the same process. The channel works as long as the server is
  // running. Calls on it do not need a certificate.
  std::shared_ptr<grpc::Channel> LocalChannel() const;

  // Returns OK if the server is working: its port accepts a connection within a second, and it
  // answers a health check within another second.
  Status Check() const;

  // Closes the sessions with agents, ends every stream, and waits up to `patience` for all calls to
  // finish. May be called several times. The executor must keep running until this returns.
  void Shutdown(Duration patience);

 private:
  Server(Coordinator& coordinator, ServerOptions options, assay::rpc::CallerCheck check);

  Coordinator& coordinator_;
  HostPort address_;
  std::unique_ptr<Executor> readers_;
  const Calls calls_;
  Dialer dialer_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<assay::rpc::Acceptor> acceptor_;
};

}  // namespace assay::coordinator::rpc
