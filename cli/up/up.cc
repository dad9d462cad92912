#include "cli/up/up.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "cli/commands/child_program.h"
#include "cli/commands/interrupt.h"
#include "cli/up/listening.h"
#include "cli/views/output.h"
#include "cli/up/private_postgres.h"
#include "common/units.h"
#include "wire/credentials.h"

namespace assay::cli {
namespace {

// The folder, made if need be, and held by this process alone.
struct DataFolder {
  std::string path;
  FileDescriptor lock;
};

std::string ReadOwner(int lock) {
  std::array<char, 32> pid{};
  const ssize_t got = pread(lock, pid.data(), pid.size() - 1, 0);
  return got > 0 ? " (process " + std::string(pid.data(), static_cast<size_t>(got)) + ")" : "";
}

Result<DataFolder> OpenDataFolder(const std::string& path) {
  std::error_code error;
  DataFolder folder;
  folder.path = std::filesystem::absolute(path, error).lexically_normal().string();
  if (!error) std::filesystem::create_directories(folder.path + "/log", error);
  if (error) return InvalidArgument("cannot make the folder " + path + ": " + error.message());
  const std::string lock_path = folder.path + "/up.lock";
  folder.lock = FileDescriptor(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.lock.valid()) {
    return InvalidArgument("cannot write " + lock_path + ": " + std::strerror(errno));
  }
  if (flock(folder.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition(
               "assay up already runs on " + folder.path + ReadOwner(folder.lock.get()),
               "ALREADY_RUNNING")
        .WithHint(
            "use that one, stop it, or give another folder with --data and other ports with "
            "--listen and --http");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(folder.lock.get(), 0) != 0 ||
      pwrite(folder.lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return FailedPrecondition("cannot write " + lock_path + ": " + std::strerror(errno));
  }
  return folder;
}

// The address after this one: the agent's beside the coordinator's. Port 0 stays.
HostPort NextAddress(HostPort address) {
  if (address.port != 0) ++address.port;
  return address;
}

constexpr int kLastPort = 65535;

// Where coordinator and agent listen.
struct Plan {
  HostPort listen;
  HostPort http;
  HostPort agent_listen;
  HostPort agent_http;
};

// The servers, in the order in which they begin to listen.
std::vector<Listening> ServersOf(const Plan& plan, bool no_agent) {
  const std::string listen = "--listen " + plan.listen.ToString();
  const std::string http = "--http " + plan.http.ToString();
  std::vector<Listening> servers = {{"the coordinator's gRPC", plan.listen, true, listen, ""},
                                    {"the coordinator's HTTP", plan.http, false, http, ""}};
  if (no_agent) return servers;
  const std::string because = "the agent takes the next port, and ";
  servers.push_back({"the agent's gRPC", plan.agent_listen, true, listen, because});
  servers.push_back({"the agent's HTTP", plan.agent_http, false, http, because});
  return servers;
}

Status CheckCollisions(const Plan& plan, bool no_agent) {
  const std::vector<Listening> servers = ServersOf(plan, no_agent);
  std::vector<std::pair<size_t, size_t>> pairs = {{0, 1}};
  if (!no_agent) pairs.insert(pairs.end(), {{2, 1}, {3, 0}});
  for (const auto& [first, second] : pairs) {
    if (!Collide(servers[first], servers[second])) continue;
    HostPort apart = plan.http;
    // Two further, and the agent's after that.
    apart.port = plan.listen.port + (plan.listen.port + 3 <= kLastPort ? 2 : -2);
    const std::string rule = no_agent
                                 ? "give each a port of its own"
                                 : "the agent takes the port after each of the coordinator's, so "
                                   "let these be two apart or more";
    return InvalidArgument(servers[0].flag + " and " + servers[1].flag +
                               " collide: " + servers[first].server + " and " +
                               servers[second].server + " would both have port " +
                               std::to_string(servers[second].address.port),
                           "PORTS_COLLIDE")
        .WithHint(rule + ": for example --http " + apart.ToString());
  }
  return Status::Ok();
}

Result<Plan> PlanAddresses(const UpOptions& options) {
  Plan plan;
  for (const auto& [flag, text, address, next] :
       {std::tuple("--listen", &options.listen, &plan.listen, &plan.agent_listen),
        {"--http", &options.http, &plan.http, &plan.agent_http}}) {
    const Result<HostPort> parsed = ParseHostPort(*text);
    if (!parsed.ok()) return parsed.status().WithContext(flag);
    *address = *parsed;
    *next = NextAddress(*parsed);
    if (next->port <= kLastPort || options.no_agent) continue;
    return InvalidArgument(std::string(flag) + " " + *text + " leaves no port for the agent",
                           "NO_NEXT_PORT")
        .WithHint("the agent takes the next port: give one up to " + std::to_string(kLastPort - 1));
  }
  ASSAY_RETURN_IF_ERROR(CheckCollisions(plan, options.no_agent));
  return plan;
}

// What children listen on 0.0.0.0 for is dialled on loopback.
std::string DialableHost(const std::string& host) {
  return host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
}

std::string Dialable(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return address;
  parsed->host = DialableHost(parsed->host);
  return parsed->ToString();
}

void AddTls(const UpOptions& options, std::vector<std::string>& arguments) {
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {flag, value});
  };
  add("--tls-cert", options.tls.certificate);
  add("--tls-key", options.tls.key);
  add("--tls-ca", options.tls.authorities);
  if (options.insecure) arguments.emplace_back("--insecure");
}

// Everything that runs. Members are destroyed last to first: agent, coordinator,
// PostgreSQL.
struct Stack {
  std::optional<PrivatePostgres> postgres;
  std::optional<ChildProgram> coordinator;
  std::optional<ChildProgram> agent;

  void Stop() {
    if (agent) agent->Stop();
    if (coordinator) coordinator->Stop();
    if (postgres) postgres->Stop();
  }
};

// A port that somebody else has is the one failure that everyone meets.
Status StartFailed(const Status& status) {
  const bool taken = status.hint().find("in use") != std::string::npos ||
                     status.hint().find("Address already") != std::string::npos;
  if (!taken) return status;
  return InvalidArgument(status.message() +
                             ": a port is taken by another program; give others with "
                             "--listen and --http (port 0 for any free one)",
                         "PORT_TAKEN")
      .WithHint(status.hint());
}

// Before PostgreSQL takes its time.
Status CheckPrograms(const UpOptions& options) {
  for (const std::string& name : {std::string("assay-coordinator"), std::string("assay-agent")}) {
    const std::string path = ExecutableDirectory() + "/" + name;
    if (access(path.c_str(), X_OK) == 0 || (options.no_agent && name == "assay-agent")) continue;
    return FailedPrecondition("cannot run " + path + ": " + std::strerror(errno), "NO_PROGRAM")
        .WithHint("the programs of Assay belong into one folder; build them all");
  }
  return Status::Ok();
}

// What the coordinator would refuse when PostgreSQL runs already, and what would keep the agent
// from it.
Status CheckTls(const UpOptions& options, const HostPort& listen) {
  const auto credentials = rpc::ServerCredentials(listen, options.tls, options.insecure);
  if (!credentials.ok()) {
    const Status& why = credentials.status();
    return InvalidArgument(why.message(), why.reason()).WithHint(why.hint());
  }
  if (options.no_agent || options.tls.empty()) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(rpc::CheckBelievesItself(options.tls));
  const std::string dialled = DialableHost(listen.host);
  const Status named = rpc::CheckCertificateNames(options.tls, dialled);
  if (named.ok()) return Status::Ok();
  return InvalidArgument("--listen " + listen.ToString() + ": the agent here dials " + dialled +
                             ", and " + named.message(),
                         named.reason())
      .WithHint("give it the subjectAltName " + dialled +
                " too, or --listen with a name of this machine that it has");
}

Status StartAll(const UpOptions& options, const Plan& plan, const DataFolder& folder, int signals,
                Stack& stack) {
  ASSAY_RETURN_IF_ERROR(CheckPrograms(options));
  ASSAY_RETURN_IF_ERROR(CheckTls(options, plan.listen));
  ASSAY_RETURN_IF_ERROR(CheckCanListen(ServersOf(plan, options.no_agent)));
  PrintError("Starting PostgreSQL in " + folder.path + "/postgres ...\n");
  PrivatePostgresOptions postgres_options;
  postgres_options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(stack.postgres,
                         PrivatePostgres::Start(folder.path + "/postgres", postgres_options));
  PrintError("Starting the coordinator ...\n");
  ChildOptions coordinator;
  coordinator.program = "assay-coordinator";
  coordinator.arguments = {"--listen", plan.listen.ToString(), "--http", plan.http.ToString()};
  AddTls(options, coordinator.arguments);
  coordinator.environment = {"ASSAY_DATABASE=" + stack.postgres->ConnectionString()};
  coordinator.log_path = folder.path + "/log/coordinator.log";
  Result<ChildProgram> started = ChildProgram::Start(coordinator, signals);
  if (!started.ok()) return StartFailed(started.status());
  stack.coordinator = std::move(*started);
  if (options.no_agent) return Status::Ok();

  PrintError("Starting the agent ...\n");
  ChildOptions agent;
  agent.program = "assay-agent";
  agent.arguments = {"--data",        folder.path + "/agent",
                     "--coordinator", Dialable(stack.coordinator->addresses().grpc),
                     "--listen",      plan.agent_listen.ToString(),
                     "--http",        plan.agent_http.ToString()};
  AddTls(options, agent.arguments);
  agent.log_path = folder.path + "/log/agent.log";
  started = ChildProgram::Start(agent, signals);
  if (!started.ok()) return StartFailed(started.status());
  stack.agent = std::move(*started);
  return Status::Ok();
}

void PrintReady(const DataFolder& folder, const Stack& stack) {
  const Addresses& coordinator = stack.coordinator->addresses();
  const std::string address = Dialable(coordinator.grpc);
  std::string text = "\nAssay is up.\n  Coordinator:  " + coordinator.grpc + "   metrics: http://" +
                     coordinator.http + "/metrics\n";
  if (stack.agent) {
    const Addresses& agent = stack.agent->addresses();
    text += "  Agent:        " + agent.grpc + "   metrics: http://" + agent.http + "/metrics\n";
  }
  text += "  Data, logs:   " + folder.path + "\n\nTry, in another terminal:\n";
  const bool usual = address == ClientOptions().coordinator;
  if (!usual) text += "  export ASSAY_COORDINATOR=" + address + "\n";
  text +=
      "  assay node list\n  assay run cpu_gemm m=1024 n=1024 k=1024\n"
      "  assay campaign submit examples/quickstart.yaml --watch\n  assay results\n\n"
      "Stop it with Ctrl-C.\n";
  Print(text);
}

// Blocks until a signal (0) or until a child has ended by itself (1).
ExitCode Supervise(Stack& stack, const DataFolder& folder, int signals) {
  std::array<pollfd, 4> polled = {{{signals, POLLIN, 0},
                                   {stack.postgres->pidfd(), POLLIN, 0},
                                   {stack.coordinator->pidfd(), POLLIN, 0},
                                   {stack.agent ? stack.agent->pidfd() : -1, POLLIN, 0}}};
  while (poll(polled.data(), polled.size(), -1) <= 0) {
  }
  if (polled[0].revents != 0) return kExitDone;
  // The database first: without it the others end too.
  std::string end;
  if (polled[1].revents != 0) {
    const std::string log = folder.path + "/postgres/postgres.log";
    end = "PostgreSQL ended; the end of " + log + ":\n" + LogTail(log);
  } else {
    end = (polled[2].revents != 0 ? *stack.coordinator : *stack.agent).DescribeEnd();
  }
  PrintError("assay: " + end);
  return kExitFailed;
}

}  // namespace

Result<ExitCode> RunUp(const UpOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const Plan plan, PlanAddresses(options));
  // A reader of our output that goes away must not take the servers with it.
  signal(SIGPIPE, SIG_IGN);
  // From here on a signal is read from this descriptor, so that no child is left.
  const FileDescriptor signals = BlockTerminationSignals();
  ASSAY_ASSIGN_OR_RETURN(const DataFolder folder, OpenDataFolder(options.data));
  Stack stack;
  const Status started = StartAll(options, plan, folder, signals.get(), stack);
  if (!started.ok()) {
    stack.Stop();
    if (started.reason() == kInterrupted) return kExitDone;
    // The end of a log is more than a hint.
    const std::string& hint = started.hint();
    const bool plain = !hint.empty() && !hint.ends_with("\n");
    PrintError("assay: " + started.message() + "\n" + (plain ? "hint: " + hint + "\n" : hint));
    return started.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
  }
  PrintReady(folder, stack);
  const ExitCode code = Supervise(stack, folder, signals.get());
  PrintError("Stopping ...\n");
  stack.Stop();
  return code;
}

}  // namespace assay::cli
