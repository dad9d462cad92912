#include "cli/client.h"

#include <grpcpp/create_channel.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/utf8.h"
#include "common/units.h"

namespace assay::cli {

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
  std::string text = Wrap("assay: " + Sanitize(status.message()), width, 2) + "\n";
  for (const Violation& violation : status.violations()) {
    const std::string field = violation.field.empty() ? "" : Sanitize(violation.field) + ": ";
    text += Wrap("  " + field + Sanitize(violation.description), width, 4) + "\n";
  }
  if (!status.hint().empty()) text += Wrap("hint: " + Sanitize(status.hint()), width, 6) + "\n";
  PrintError(text);
  return ExitCodeOf(status);
}

Result<Client> Client::ToCoordinator(const ClientOptions& options) {
  return Make(options.coordinator, options, "the coordinator");
}

Result<Client> Client::ToAgent(const std::string& address, const ClientOptions& options) {
  return Make(address, options, "the agent");
}

Result<Client> Client::Make(const std::string& address, const ClientOptions& options,
                            std::string peer) {
  const Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return parsed.status().WithContext("address of " + peer);
  if (parsed->port == 0) {
    return InvalidArgument("address of " + peer + ": port 0 of \"" + address +
                           "\" cannot be dialled; write for example 127.0.0.1:7900");
  }
  ASSAY_ASSIGN_OR_RETURN(auto credentials,
                         rpc::ClientCredentials(*parsed, options.tls, options.insecure));
  const auto channel =
      grpc::CreateCustomChannel(parsed->ToString(), credentials, rpc::ClientArguments());
  Client client;
  client.address_ = parsed->ToString();
  client.peer_ = std::move(peer);
  client.campaigns_ = v1::CampaignService::NewStub(channel);
  client.nodes_ = v1::NodeService::NewStub(channel);
  client.results_ = v1::ResultService::NewStub(channel);
  client.agent_ = v1::AgentService::NewStub(channel);
  return client;
}

Status Client::Explain(const grpc::Status& status) const {
  const Status error = rpc::FromGrpc(status);
  // A reason comes from a server of ours: it answered, and says itself what it
  // lacks (its database, for example).
  const bool answered = !error.reason().empty();
  if (answered || ExitCodeOf(error) != kExitUnreachable) return error;
  // gRPC tells the whole story; its end is the cause.
  std::string why = error.message();
  if (const size_t cause = why.rfind(": "); cause != std::string::npos) why = why.substr(cause + 2);
  if (error.code() == Code::kDeadlineExceeded) why = "no answer in time";
  const Status unreachable(error.code(), "UNREACHABLE",
                           "cannot reach " + peer_ + " at " + address_ + ": " + why);
  return unreachable.WithHint(peer_ == "the coordinator"
                                  ? "start one here with \"assay up\", or name another with "
                                    "--coordinator HOST:PORT or ASSAY_COORDINATOR"
                                  : "start one there with \"assay-agent\", or check the address");
}

}  // namespace assay::cli
