#include "coordinator/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "common/log.h"

namespace assay::coordinator::rpc {
namespace {

// Delay after which agents reconnect; their own jitter spreads them.
constexpr Duration kReconnectAfter = std::chrono::seconds(1);

void ApplyThreadLimits(grpc::ServerBuilder& builder) {
  // Reflection is the only service that uses the threaded API.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
}

}  // namespace

Server::Server(Coordinator& coordinator, ServerOptions options)
    : coordinator_(coordinator),
      address_(options.listen),
      calls_(coordinator.executor(), std::move(options.counter)),
      dialer_(coordinator, calls_, std::move(options.agent_tls), options.insecure),
      fleet_(coordinator, calls_),
      campaigns_(coordinator, calls_),
      nodes_(coordinator, dialer_, calls_),
      results_(coordinator, calls_) {}

Result<std::unique_ptr<Server>> Server::Start(Coordinator& coordinator, ServerOptions options) {
  ASSAY_ASSIGN_OR_RETURN(
      const auto credentials,
      assay::rpc::ServerCredentials(options.listen, options.tls, options.insecure));
  std::unique_ptr<Server> server(new Server(coordinator, std::move(options)));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(server->address_.ToString(), credentials, &port);
  assay::rpc::ApplyServerLimits(builder);
  ApplyThreadLimits(builder);
  builder.RegisterService(&server->fleet_);
  builder.RegisterService(&server->campaigns_);
  builder.RegisterService(&server->nodes_);
  builder.RegisterService(&server->results_);
  server->server_ = builder.BuildAndStart();
  if (!server->server_ || port == 0) {
    server->server_ = nullptr;
    return InvalidArgument("cannot listen on " + server->address_.ToString() +
                               ": the port is taken, or the address is not this machine's",
                           Reason::kAddressInUse)
        .WithHint("stop what listens there, or choose another --listen");
  }
  server->address_.port = port;
  coordinator.OnAttached(
      [dialer = &server->dialer_](const Agent& agent) { dialer->OnAttached(agent); });
  return server;
}

Server::~Server() { Shutdown(std::chrono::seconds(1)); }

void Server::Shutdown(Duration patience) {
  if (!server_) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  coordinator_.Shutdown(kReconnectAfter);
  dialer_.Stop(patience);
  // Cancels watches and calls that have not ended at the deadline.
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_ = nullptr;
}

}  // namespace assay::coordinator::rpc
