// A client of a coordinator or an agent: one channel, a deadline for every call, and errors that
// name the address.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "assay/v1/agent_service.grpc.pb.h"
#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "assay/v1/result_service.grpc.pb.h"
#include "common/status.h"
#include "wire/credentials.h"
#include "wire/status_conversion.h"

namespace assay::cli {

// The program's exit status.
enum ExitCode {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitUnreachable = 3,
  kExitRefused = 4,
};

// Returns the exit code for an error of a call or of input.
ExitCode ExitCodeOf(const Status& status);

// Prints "assay: message", then violations and hint, and returns the exit code.
ExitCode Report(const Status& status);

struct ClientOptions {
  std::string coordinator = "127.0.0.1:7900";
  rpc::TlsFiles tls;
  bool insecure = false;
};

inline constexpr std::chrono::seconds kCallTimeout{15};

// Owns a channel; the stubs live as long as it. Thread-safe as gRPC's stubs are.
class Client {
 public:
  // To the coordinator. An error if address or TLS files are unusable; nothing
  // is dialled yet.
  static Result<Client> ToCoordinator(const ClientOptions& options);
  // To an agent at HOST:PORT.
  static Result<Client> ToAgent(const std::string& address, const ClientOptions& options);

  v1::CampaignService::Stub& campaigns() { return *campaigns_; }
  v1::NodeService::Stub& nodes() { return *nodes_; }
  v1::ResultService::Stub& results() { return *results_; }
  v1::AgentService::Stub& agent() { return *agent_; }

  // One unary call: client.Call(&v1::NodeService::Stub::GetNode, client.nodes(),
  // request).
  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        Stub& stub, const Request& request,
                        std::chrono::seconds timeout = kCallTimeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return Explain(status);
    return response;
  }

  // A gRPC error with what the user can do about it.
  Status Explain(const grpc::Status& status) const;

 private:
  static Result<Client> Make(const std::string& address, const ClientOptions& options,
                             std::string peer);

  std::string address_;
  // "the coordinator" or "the agent".
  std::string peer_;
  std::unique_ptr<v1::CampaignService::Stub> campaigns_;
  std::unique_ptr<v1::NodeService::Stub> nodes_;
  std::unique_ptr<v1::ResultService::Stub> results_;
  std::unique_ptr<v1::AgentService::Stub> agent_;
};

}  // namespace assay::cli
