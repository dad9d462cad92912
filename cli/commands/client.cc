#include "cli/commands/client.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/contexts/connection.h"
#include "cli/views/output.h"
#include "cli/views/table.h"
#include "common/host_port.h"
#include "common/text.h"
#include "wire/explain_connection.h"

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kExplainPatience{5};

// Turns off gRPC's own error log, because this program prints every error itself. Users can turn
// the log back on by setting the environment variable GRPC_VERBOSITY.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

// Returns a hint for an unreachable peer.
std::string UnreachableHint(bool coordinator) {
  return coordinator ? "start one here with \"assay up\", or name another with --coordinator "
                       "HOST:PORT or ASSAY_COORDINATOR"
                     : "start one there with \"assay-agent\", or check the address";
}

// Removes the first violation from the end of the message, because Report lists all of them.
std::string Headline(const Status& status) {
  if (status.violations().empty()) return status.message();
  const Violation& first = status.violations().front();
  const std::string repeated = ": " + first.field + ": " + first.description;
  const std::string& message = status.message();
  return message.ends_with(repeated) ? message.substr(0, message.size() - repeated.size())
                                     : message;
}

}  // namespace

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return kExitDone;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return kExitUsage;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return kExitUnreachable;
    default:
      return kExitRefused;
  }
}

ExitCode Report(const Status& status) {
  const int width = StyleOf(STDERR_FILENO).width;
  std::string text = Wrap("assay: " + Sanitize(Headline(status)), width, 2) + "\n";
  for (const Violation& violation : status.violations()) {
    if (violation.description == status.message()) continue;
    const std::string field = violation.field.empty() ? "" : Sanitize(violation.field) + ": ";
    text += Wrap("  " + field + Sanitize(violation.description), width, 4) + "\n";
  }
  if (!status.hint().empty()) text += Wrap("hint: " + Sanitize(status.hint()), width, 6) + "\n";
  PrintError(text);
  return ExitCodeOf(status);
}

Result<Client> Client::ToCoordinator(const ClientOptions& options) {
  const GivenConnection given{options.context, options.coordinator_given ? options.coordinator : "",
                              options.tls};
  ASSAY_ASSIGN_OR_RETURN(const Connection chosen, ChooseConnection(given, ContextFolder()));
  ClientOptions resolved = options;
  if (!chosen.coordinator.empty()) resolved.coordinator = chosen.coordinator;
  resolved.tls = chosen.tls;
  Client client("the coordinator");
  for (const std::string_view address : Split(resolved.coordinator, ',')) {
    ASSAY_RETURN_IF_ERROR(client.Add(std::string(address), resolved));
  }
  return client;
}

Result<Client> Client::ToAgent(const std::string& address, const ClientOptions& options) {
  Client client("the agent");
  ASSAY_RETURN_IF_ERROR(client.Add(address, options));
  return client;
}

Status Client::Add(const std::string& address, const ClientOptions& options) {
  const Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return parsed.status().WithContext("address of " + peer_);
  if (parsed->port == 0) {
    return InvalidArgument("address of " + peer_ + ": port 0 of \"" + address +
                           "\" cannot be dialled; write for example 127.0.0.1:7900");
  }
  SilenceGrpc();
  ASSAY_ASSIGN_OR_RETURN(auto credentials,
                         rpc::ClientCredentials(*parsed, options.tls, options.insecure));
  const auto channel =
      grpc::CreateCustomChannel(parsed->ToString(), credentials, rpc::ClientArguments());
  tls_ = options.tls;
  servers_.push_back(
      {parsed->ToString(),
       *parsed,
       {v1::CampaignService::NewStub(channel), v1::NodeService::NewStub(channel),
        v1::ResultService::NewStub(channel), v1::AgentService::NewStub(channel),
        v1::AnalysisService::NewStub(channel), v1::NoteService::NewStub(channel),
        v1::ScheduleService::NewStub(channel), v1::IdentityService::NewStub(channel)}});
  return Status::Ok();
}

std::string Client::addresses() const {
  std::vector<std::string> addresses;
  for (const Server& server : servers_) addresses.push_back(server.address);
  return Join(addresses, ",");
}

Status Client::Combine(const Status& earlier, const Status& later) {
  if (earlier.reason() != Reason::kUnreachable || later.reason() != Reason::kUnreachable) {
    return later;
  }
  return Status(later.code(), later.reason(), earlier.message() + "; " + later.message())
      .WithHint(later.hint());
}

Status Client::Explain(const grpc::Status& status) const {
  const Server& server = servers_[*present_];
  const std::string& address = server.address;
  const Status error = rpc::FromGrpc(status);
  // If a reason is set, the error comes from one of our servers, so the server can be reached.
  const bool answered = error.reason() != Reason::kNone;
  if (answered) *reached_ = true;
  if (answered) return error;
  if (error.code() == Code::kUnimplemented) {
    return Status(error.code(), Reason::kWrongPeer,
                  "the program at " + address + " is not " + peer_ + ", or has another version")
        .WithHint("by default, a coordinator listens on port 7900 and an agent on 7901");
  }
  if (ExitCodeOf(error) != kExitUnreachable) {
    if (!error.message().empty()) return error;
    return Status(error.code(), Reason::kNoMessage,
                  peer_ + " at " + address + " answered " + std::string(CodeName(error.code())) +
                      " without a message");
  }
  // The last part of gRPC's message is the cause.
  std::string why = error.message();
  if (const size_t cause = why.rfind(": "); cause != std::string::npos) why = why.substr(cause + 2);
  if (error.code() == Code::kDeadlineExceeded) why = "timed out";
  const bool coordinator = peer_ == "the coordinator";
  const bool clear = error.code() == Code::kDeadlineExceeded || why == "Connection refused";
  if (!clear && !*reached_) {
    const Status cause = rpc::ExplainConnection(server.parsed, tls_, kExplainPatience);
    if (cause.reason() == Reason::kTlsRequired && coordinator && tls_.empty()) {
      return cause.WithHint("log in to its fleet with \"assay login\", or " + cause.hint());
    }
    if (!cause.ok() && cause.reason() != Reason::kUnreachable) return cause;
  }
  if (why == "Socket closed") why = "it closed the connection";
  return Status(error.code(), Reason::kUnreachable,
                "cannot reach " + peer_ + " at " + address + ": " + why)
      .WithHint(UnreachableHint(coordinator));
}

}  // namespace assay::cli
