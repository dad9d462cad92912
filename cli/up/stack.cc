#include "cli/up/stack.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/commands/client.h"
#include "cli/views/output.h"
#include "common/digest.h"
#include "common/host_port.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

// Returns the secret that opens the web console: $ASSAY_CONSOLE_TOKEN if set, otherwise a new
// random secret. Returns an empty string if the console listens only on loopback and the fleet is
// not public. In that case a secret would be useless, because any program that can reach the
// console can also call the coordinator, unless the coordinator requires client certificates.
std::string ConsoleToken(const UpOptions& options) {
  const char* const given = std::getenv("ASSAY_CONSOLE_TOKEN");
  if (given != nullptr && *given != '\0') return given;
  const Result<HostPort> parsed = ParseHostPort(options.console);
  if (!parsed.ok() || (parsed->IsLoopback() && options.public_host.empty())) return "";
  return Sha256Hex(NewUuid() + NewUuid());
}

// Returns the agent's default address: the coordinator's address with the next port. Port 0,
// meaning any free port, stays 0.
Result<std::string> NextAddress(const std::string& flag, const std::string& address) {
  Result<HostPort> next = ParseHostPort(address);
  if (!next.ok()) return next.status().WithContext(flag);
  if (next->port != 0) ++next->port;
  return next->ToString();
}

}  // namespace

Stack::Stack(const UpOptions& options, std::string folder, int signals)
    : options_(options),
      folder_(std::move(folder)),
      signals_(signals),
      console_(options.console),
      console_token_(ConsoleToken(options)) {}

Status Stack::Start() {
  ASSAY_ASSIGN_OR_RETURN(agent_listen_, NextAddress("--listen", options_.listen));
  ASSAY_ASSIGN_OR_RETURN(agent_http_, NextAddress("--http", options_.http));
  if (!options_.public_host.empty()) {
    ASSAY_ASSIGN_OR_RETURN(public_, PublicFleet::Make(options_.public_host, options_.listen,
                                                      options_.join, folder_ + "/authority"));
  } else if (std::filesystem::exists(folder_ + "/authority")) {
    return InvalidArgument("the fleet of " + folder_ +
                           " was started with --public; its nodes and users could not connect")
        .WithHint("give --public HOST as before; for another fleet: --data FOLDER");
  }
  PrintError("Starting PostgreSQL in " + folder_ + "/postgres ...\n");
  PrivatePostgresOptions postgres_options;
  postgres_options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(postgres_,
                         PrivatePostgres::Start(folder_ + "/postgres", postgres_options));
  PrintError("Starting the coordinator ...\n");
  ASSAY_RETURN_IF_ERROR(StartCoordinator(options_.listen, options_.http));
  if (public_) ASSAY_RETURN_IF_ERROR(EnrolHere());
  if (options_.simulate > 0) {
    PrintError("Starting " + std::to_string(options_.simulate) + " simulated nodes ...\n");
    ASSAY_RETURN_IF_ERROR(StartSimulation());
  }
  if (options_.no_agent) return Status::Ok();
  PrintError("Starting the agent ...\n");
  return StartAgent(agent_listen_, agent_http_);
}

std::vector<Supervised> Stack::Programs() {
  std::vector<Supervised> programs;
  programs.push_back({"PostgreSQL", [this] { return postgres_->pidfd(); },
                      [this] {
                        const std::string log = folder_ + "/postgres/postgres.log";
                        return "PostgreSQL ended; the end of " + log + ":\n" + LogTail(log);
                      },
                      [this] { return postgres_->Restart(); }});
  programs.push_back({"assay-coordinator", [this] { return coordinator_->pidfd(); },
                      [this] { return coordinator_->DescribeEnd(); },
                      [this] {
                        const ServedAddresses served = coordinator_->addresses();
                        if (!served.console.empty()) {
                          const size_t host = served.console.find("://") + 3;
                          console_ = served.console.substr(host, served.console.rfind('/') - host);
                        }
                        return StartCoordinator(served.grpc, served.http);
                      }});
  if (simulation_) {
    programs.push_back({"the simulation", [this] { return simulation_->pidfd(); },
                        [this] { return simulation_->DescribeEnd(); },
                        [this] { return StartSimulation(); }});
  }
  if (!agent_) return programs;
  programs.push_back({"assay-agent", [this] { return agent_->pidfd(); },
                      [this] { return agent_->DescribeEnd(); },
                      [this] {
                        const ServedAddresses served = agent_->addresses();
                        return StartAgent(served.grpc, served.http);
                      }});
  return programs;
}

std::string Stack::ReadyText() const {
  const auto line = [](const std::string& grpc, const ServedAddresses& served) {
    return (grpc.empty() ? "" : grpc + "   ") + "metrics: http://" + served.http + "/metrics\n";
  };
  std::string text = "\nAssay is up.\n";
  const std::string console = ConsoleUrl();
  if (!console.empty()) text += "  Console:      " + console + "\n";
  const ServedAddresses& served = coordinator_->addresses();
  text += "  Coordinator:  " + line(public_ ? public_->advertise.ToString() : served.grpc, served);
  if (public_) text += "  Joining:      https://" + public_->advertise_join.ToString() + "\n";
  if (agent_) text += "  Agent:        " + line(agent_->addresses().grpc, agent_->addresses());
  text += "  Data, logs:   " + folder_ + "\n";
  if (public_) {
    text += "\nYou are logged in as an admin, with context " + context_ +
            ".\nOpen in the firewall: TCP ports " + std::to_string(public_->advertise.port) +
            " and " + std::to_string(public_->advertise_join.port) +
            ".\nTo add a machine, run this and paste the line that it prints there:\n" +
            "  assay node invite\n";
  }
  return text + NextSteps() + "Stop it with Ctrl-C.\n";
}

std::string Stack::NextSteps() const {
  std::string text = "\nTry, in another terminal:\n";
  const std::string address = Dialable(coordinator_->addresses().grpc);
  if (!public_ && address != ClientOptions().coordinator) {
    text += "  export ASSAY_COORDINATOR=" + address + "\n";
  }
  return text + (options_.simulate > 0
                     ? "  assay node list\n"
                       "  assay campaign submit examples/gpu-quickstart.yaml --watch\n"
                       "  assay results --filter 'simulated = true'\n\n"
                       "Simulated results are shown only where a filter names them.\n"
                     : "  assay node list\n  assay run cpu_gemm m=1024 n=1024 k=1024\n"
                       "  assay campaign submit examples/quickstart.yaml --watch\n"
                       "  assay results\n\n");
}

void Stack::Stop() {
  if (simulation_) simulation_->Stop();
  if (agent_) agent_->Stop();
  if (coordinator_) coordinator_->Stop();
  if (postgres_) postgres_->Stop();
}

Status Stack::StartCoordinator(const std::string& listen, const std::string& http) {
  ChildOptions child;
  child.program = "assay-coordinator";
  child.arguments = {"--listen", listen, "--http", http};
  child.environment = {"ASSAY_DATABASE=" + postgres_->ConnectionString(),
                       "ASSAY_CONSOLE_TOKEN=" + console_token_};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) child.arguments.insert(child.arguments.end(), {flag, value});
  };
  child.arguments.insert(child.arguments.end(), {"--console", console_});
  add("--console-tls-cert", options_.console_tls.certificate);
  add("--console-tls-key", options_.console_tls.key);
  if (!console_token_.empty()) add("--console-host", HostName());
  for (const std::string& host : options_.console_hosts) add("--console-host", host);
  if (public_) {
    const std::vector<std::string> more = public_->CoordinatorOptions();
    child.arguments.insert(child.arguments.end(), more.begin(), more.end());
  }
  return StartChild(child, options_.tls, "coordinator", coordinator_);
}

Status Stack::EnrolHere() {
  const std::string database = postgres_->ConnectionString();
  ASSAY_ASSIGN_OR_RETURN(context_, public_->EnrolUser(database));
  if (options_.no_agent) return Status::Ok();
  return public_->EnrolAgent(AgentFolder() + "/identity", database);
}

std::string Stack::ConsoleUrl() const {
  std::string url = coordinator_->addresses().console;
  for (const char* any : {"//0.0.0.0:", "//[::]:"}) {
    if (const size_t at = url.find(any); at != url.npos) {
      url.replace(at, std::strlen(any), "//" + HostName() + ":");
    }
  }
  return url.empty() || console_token_.empty() ? url : url + "#token=" + console_token_;
}

Status Stack::StartAgent(const std::string& listen, const std::string& http) {
  ChildOptions child;
  child.program = "assay-agent";
  child.arguments = {"--data", AgentFolder(), "--coordinator",
                     Dialable(coordinator_->addresses().grpc)};
  // The certificate of a joined node is a client's, with which it cannot serve.
  if (!public_) child.arguments.insert(child.arguments.end(), {"--listen", listen});
  child.arguments.insert(child.arguments.end(), {"--http", http});
  return StartChild(child, options_.agent_tls, "agent", agent_);
}

std::string Stack::AgentFolder() const { return folder_ + (public_ ? "/node" : "/agent"); }

Status Stack::StartSimulation() {
  ChildOptions child;
  child.program = "assay-agent";
  child.arguments = {"simulate", "--coordinator", Dialable(coordinator_->addresses().grpc),
                     "--nodes", std::to_string(options_.simulate)};
  return StartChild(child, rpc::TlsFiles(), "simulation", simulation_);
}

Status Stack::StartChild(ChildOptions& child, const rpc::TlsFiles& tls, const std::string& log,
                         std::optional<ChildProgram>& started) {
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) child.arguments.insert(child.arguments.end(), {flag, value});
  };
  add("--tls-cert", tls.certificate);
  add("--tls-key", tls.key);
  add("--tls-ca", tls.authorities);
  if (options_.insecure) child.arguments.emplace_back("--insecure");
  child.log_path = folder_ + "/log/" + log + ".log";
  ASSAY_ASSIGN_OR_RETURN(started, ChildProgram::Start(child, signals_));
  return Status::Ok();
}

}  // namespace assay::cli
