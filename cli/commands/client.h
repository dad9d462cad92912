// A gRPC client for an agent or for the coordinators of a fleet. The client sets a deadline for
// every call and includes the server's address in every error.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "assay/v1/agent_service.grpc.pb.h"
#include "assay/v1/analysis_service.grpc.pb.h"
#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/identity_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "assay/v1/result_service.grpc.pb.h"
#include "assay/v1/schedule_service.grpc.pb.h"
#include "cli/commands/exit_code.h"
#include "common/host_port.h"
#include "common/status.h"
#include "wire/credentials.h"
#include "wire/status_conversion.h"

namespace assay::cli {

// Prints "assay: message", then violations and hint, and returns the exit code.
ExitCode Report(const Status& status);

struct ClientOptions {
  // Name of a context (cli/contexts/context_file.h); empty for the current one, if there is any.
  std::string context;
  // HOST:PORT, or several separated by commas.
  std::string coordinator = "127.0.0.1:7900";
  // True if the user named the coordinator.
  bool coordinator_given = false;
  rpc::TlsFiles tls;
  bool insecure = false;
};

inline constexpr std::chrono::seconds kCallTimeout{15};

// True if it is safe to repeat a request of this type that a server may already have executed.
// False, for example, for RemoveNode, because a repeated request would fail with "no such node",
// and for CreateAnnotation, because a repeated request would add a second annotation.
template <typename Request>
inline constexpr bool kRepeatable = !std::is_same_v<Request, v1::RemoveNodeRequest> &&
                                    !std::is_same_v<Request, v1::RemoveIdentityRequest> &&
                                    !std::is_same_v<Request, v1::CreateScheduleRequest> &&
                                    !std::is_same_v<Request, v1::DeleteScheduleRequest> &&
                                    !std::is_same_v<Request, v1::CreateAnnotationRequest>;

// A client with a channel to each server. Sends all calls to one server. If that server cannot be
// reached, switches to the next server and repeats the failed call there. If the call is not
// kRepeatable, returns an error instead and does not switch. As thread-safe as gRPC's stubs.
class Client {
 public:
  // Creates a client for the coordinators in `options`. If there are none, uses those in the user's
  // context, the stored configuration for one fleet (see cli/contexts). Does not connect yet, but
  // may renew the certificate of the context. Returns an error if an address, the TLS files or the
  // context are invalid.
  static Result<Client> ToCoordinator(const ClientOptions& options);
  // Makes a client of the agent at HOST:PORT. Contexts do not apply.
  static Result<Client> ToAgent(const std::string& address, const ClientOptions& options);

  // Returns a service's stub at the present server: stub<v1::NodeService::Stub>().
  template <typename Stub>
  Stub& stub() {
    return *std::get<std::unique_ptr<Stub>>(servers_[*present_].stubs);
  }

  size_t server_count() const { return servers_.size(); }
  // Returns HOST:PORT of all servers, separated by commas.
  std::string addresses() const;
  // Selects the next server for later calls. After the last server, selects the first one.
  void MoveOn() { *present_ = (*present_ + 1) % servers_.size(); }

  // Makes a unary call, for example Call(&v1::NodeService::Stub::GetNode, request). If no server
  // can be reached, the error lists all of them.
  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request, std::chrono::seconds timeout = kCallTimeout) {
    Status failure;
    for (size_t tried = 0; tried < servers_.size(); ++tried) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + timeout);
      Response response;
      const grpc::Status status = (stub<Stub>().*method)(&context, request, &response);
      if (status.ok()) {
        *reached_ = true;
        return response;
      }
      failure = Combine(failure, Explain(status));
      if (!kRepeatable<Request> || ExitCodeOf(failure) != kExitUnreachable) break;
      MoveOn();
    }
    return failure;
  }

  // Converts a gRPC error to a Status with a hint about what the user can do. If no server has ever
  // responded, may make a test connection to find the cause, for example that the server requires
  // TLS.
  Status Explain(const grpc::Status& status) const;

  // Records that a server has responded to a streaming call, which does not go through Call. From
  // then on, failures are reported as outages, not as a wrong address or certificate.
  void NoteAnswer() { *reached_ = true; }

 private:
  struct Server {
    std::string address;
    HostPort parsed;
    std::tuple<std::unique_ptr<v1::CampaignService::Stub>, std::unique_ptr<v1::NodeService::Stub>,
               std::unique_ptr<v1::ResultService::Stub>, std::unique_ptr<v1::AgentService::Stub>,
               std::unique_ptr<v1::AnalysisService::Stub>, std::unique_ptr<v1::NoteService::Stub>,
               std::unique_ptr<v1::ScheduleService::Stub>,
               std::unique_ptr<v1::IdentityService::Stub>>
        stubs;
  };

  explicit Client(std::string peer) : peer_(std::move(peer)) {}
  Status Add(const std::string& address, const ClientOptions& options);
  // Returns `later`. If neither call reached a server, puts the message of `earlier` in front.
  static Status Combine(const Status& earlier, const Status& later);

  std::string peer_;  // "the coordinator" or "the agent".
  rpc::TlsFiles tls_;
  std::vector<Server> servers_;
  // An index of `servers_`. On the heap, because an atomic number cannot be moved.
  std::unique_ptr<std::atomic<size_t>> present_ = std::make_unique<std::atomic<size_t>>(0);
  // True once a server has answered.
  std::unique_ptr<std::atomic<bool>> reached_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace assay::cli
