// A gRPC client for a coordinator or an agent. It uses a single channel, sets a deadline for every
// call, and includes the server's address in every error.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

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

// Returns the exit code for an error.
ExitCode ExitCodeOf(const Status& status);

// Prints "assay: message", then violations and hint, and returns the exit code.
ExitCode Report(const Status& status);

struct ClientOptions {
  std::string coordinator = "127.0.0.1:7900";
  rpc::TlsFiles tls;
  bool insecure = false;
};

inline constexpr std::chrono::seconds kCallTimeout{15};

// Owns a channel and its stubs. Thread-safe as gRPC's stubs are.
class Client {
 public:
  // Creates a client for the coordinator without connecting yet. Returns an error if the address or
  // the TLS files are invalid.
  static Result<Client> ToCoordinator(const ClientOptions& options);
  // Makes a client of the agent at HOST:PORT.
  static Result<Client> ToAgent(const std::string& address, const ClientOptions& options);

  // Returns a service's stub: stub<v1::NodeService::Stub>().
  template <typename Stub>
  Stub& stub() {
    return *std::get<std::unique_ptr<Stub>>(stubs_);
  }

  // Makes one unary call: Call(&v1::NodeService::Stub::GetNode, request).
  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request, std::chrono::seconds timeout = kCallTimeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    Response response;
    const grpc::Status status = (stub<Stub>().*method)(&context, request, &response);
    if (!status.ok()) return Explain(status);
    return response;
  }

  // Returns a gRPC error with a hint about what the user can do.
  Status Explain(const grpc::Status& status) const;

 private:
  static Result<Client> Make(const std::string& address, const ClientOptions& options,
                             std::string peer);

  std::string address_;
  std::string peer_;  // "the coordinator" or "the agent".
  std::tuple<std::unique_ptr<v1::CampaignService::Stub>, std::unique_ptr<v1::NodeService::Stub>,
             std::unique_ptr<v1::ResultService::Stub>, std::unique_ptr<v1::AgentService::Stub>>
      stubs_;
};

}  // namespace assay::cli
