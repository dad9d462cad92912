// Implements `assay up`, which runs PostgreSQL, a coordinator and an agent on this machine. All
// files are in one data folder:
//
//   postgres     the database
//   agent        the agent's state
//   log/*.log    one log per program
//   up.lock      a lock, held while `assay up` runs
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/interrupt.h"
#include "cli/up/child_program.h"
#include "cli/up/private_postgres.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/file.h"
#include "common/host_port.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

struct UpOptions {
  std::string data;
  std::string listen = "127.0.0.1:7900";
  std::string http = "127.0.0.1:9900";
  std::string console = "127.0.0.1:7980";
  rpc::TlsFiles console_tls;
  std::vector<std::string> console_hosts;
  bool no_agent = false;
  int simulate = 0;  // Number of simulated nodes.
  rpc::TlsFiles tls;
  rpc::TlsFiles agent_tls;
  bool insecure = false;
};

// A data folder that no other process uses.
struct DataFolder {
  std::string path;
  FileDescriptor lock;
};

Result<DataFolder> OpenDataFolder(const std::string& path) {
  std::error_code error;
  DataFolder folder;
  folder.path = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return InvalidArgument("cannot make the folder " + path + ": " + error.message());
  // Root's PostgreSQL is another user, which has to pass through.
  Status made = MakePrivateFolder(folder.path, ::geteuid() == 0 ? 0711 : 0700);
  if (made.ok()) made = MakePrivateFolder(folder.path + "/log");
  if (!made.ok()) return InvalidArgument(made.message());
  const std::string lock_path = folder.path + "/up.lock";
  folder.lock = FileDescriptor(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.lock.valid()) {
    return InvalidArgument("cannot write " + lock_path + ": " + std::strerror(errno));
  }
  if (flock(folder.lock.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  return FailedPrecondition("assay up runs on " + folder.path + " already", Reason::kAlreadyRunning)
      .WithHint(
          "use that one, stop it, or give another folder with --data and other ports with "
          "--listen and --http");
}

// Returns an address at which to connect to a server that listens on `address`.
std::string Dialable(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return address;
  if (parsed->host == "0.0.0.0") parsed->host = "127.0.0.1";
  if (parsed->host == "::") parsed->host = "::1";
  return parsed->ToString();
}

// The secret of a console that others can reach: that in the environment, or a new one. Empty on
// loopback, where whoever can open the console can call the coordinator anyway.
std::string ConsoleToken(const std::string& address) {
  const char* const given = std::getenv("ASSAY_CONSOLE_TOKEN");
  if (given != nullptr && *given != '\0') return given;
  const Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok() || parsed->IsLoopback()) return "";
  return Sha256Hex(NewUuid() + NewUuid());
}

// Returns the name of this host.
std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// Returns the coordinator's address with the next port, for the agent. Port 0 (any free) stays 0.
Result<std::string> NextAddress(const std::string& flag, const std::string& address) {
  Result<HostPort> next = ParseHostPort(address);
  if (!next.ok()) return next.status().WithContext(flag);
  if (next->port != 0) ++next->port;
  return next->ToString();
}

// A program that was started.
struct Supervised {
  std::string name;                           // "assay-agent".
  std::function<int()> pidfd;                 // Becomes readable when the program has ended.
  std::function<std::string()> describe_end;  // How it ended, with the end of its log.
  std::function<Status()> restart;            // Blocks until the program serves again.
};

// PostgreSQL, the coordinator and the agent. They are destroyed in reverse order of their start.
class Stack {
 public:
  Stack(const UpOptions& options, std::string folder, int signals)
      : options_(options),
        folder_(std::move(folder)),
        signals_(signals),
        console_(options.console),
        console_token_(ConsoleToken(options.console)) {}

  Status Start() {
    ASSAY_ASSIGN_OR_RETURN(agent_listen_, NextAddress("--listen", options_.listen));
    ASSAY_ASSIGN_OR_RETURN(agent_http_, NextAddress("--http", options_.http));
    PrintError("Starting PostgreSQL in " + folder_ + "/postgres ...\n");
    PrivatePostgresOptions postgres_options;
    postgres_options.die_with_parent = true;
    ASSAY_ASSIGN_OR_RETURN(postgres_,
                           PrivatePostgres::Start(folder_ + "/postgres", postgres_options));
    PrintError("Starting the coordinator ...\n");
    ASSAY_RETURN_IF_ERROR(StartCoordinator(options_.listen, options_.http));
    if (options_.simulate > 0) {
      PrintError("Starting " + std::to_string(options_.simulate) + " simulated nodes ...\n");
      ASSAY_RETURN_IF_ERROR(StartSimulation());
    }
    if (options_.no_agent) return Status::Ok();
    PrintError("Starting the agent ...\n");
    return StartAgent(agent_listen_, agent_http_);
  }

  // Returns the programs with functions that start them again at their previous addresses.
  std::vector<Supervised> Programs() {
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
                            console_ =
                                served.console.substr(host, served.console.rfind('/') - host);
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

  void PrintReady() const {
    const auto line = [](const ServedAddresses& served) {
      return served.grpc + "   metrics: http://" + served.http + "/metrics\n";
    };
    const std::string address = Dialable(coordinator_->addresses().grpc);
    std::string text = "\nAssay is up.\n";
    const std::string console = ConsoleUrl();
    if (!console.empty()) text += "  Console:      " + console + "\n";
    text += "  Coordinator:  " + line(coordinator_->addresses());
    if (agent_) text += "  Agent:        " + line(agent_->addresses());
    text += "  Data, logs:   " + folder_ + "\n\nTry, in another terminal:\n";
    if (address != ClientOptions().coordinator) {
      text += "  export ASSAY_COORDINATOR=" + address + "\n";
    }
    text += options_.simulate > 0
                ? "  assay node list\n"
                  "  assay campaign submit examples/gpu-quickstart.yaml --watch\n"
                  "  assay results --filter 'simulated = true'\n\n"
                  "Simulated results are shown only where a filter names them.\n"
                : "  assay node list\n  assay run cpu_gemm m=1024 n=1024 k=1024\n"
                  "  assay campaign submit examples/quickstart.yaml --watch\n  assay results\n\n";
    Print(text + "Stop it with Ctrl-C.\n");
  }

  void Stop() {
    if (simulation_) simulation_->Stop();
    if (agent_) agent_->Stop();
    if (coordinator_) coordinator_->Stop();
    if (postgres_) postgres_->Stop();
  }

 private:
  Status StartCoordinator(const std::string& listen, const std::string& http) {
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
    return StartChild(child, options_.tls, "coordinator", coordinator_);
  }

  // Returns what a browser on this or, if it listens beyond loopback, another host can open. The
  // token is part of it, after the "#", which browsers do not send.
  std::string ConsoleUrl() const {
    std::string url = coordinator_->addresses().console;
    for (const char* any : {"//0.0.0.0:", "//[::]:"}) {
      if (const size_t at = url.find(any); at != url.npos) {
        url.replace(at, std::strlen(any), "//" + HostName() + ":");
      }
    }
    return url.empty() || console_token_.empty() ? url : url + "#token=" + console_token_;
  }

  Status StartAgent(const std::string& listen, const std::string& http) {
    ChildOptions child;
    child.program = "assay-agent";
    child.arguments = {"--data",        folder_ + "/agent",
                       "--coordinator", Dialable(coordinator_->addresses().grpc),
                       "--listen",      listen,
                       "--http",        http};
    return StartChild(child, options_.agent_tls, "agent", agent_);
  }

  Status StartSimulation() {
    ChildOptions child;
    child.program = "assay-agent";
    child.arguments = {"simulate", "--coordinator", Dialable(coordinator_->addresses().grpc),
                       "--nodes", std::to_string(options_.simulate)};
    return StartChild(child, rpc::TlsFiles(), "simulation", simulation_);
  }

  Status StartChild(ChildOptions& child, const rpc::TlsFiles& tls, const std::string& log,
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

  const UpOptions& options_;
  const std::string folder_;
  const int signals_;
  std::string console_;  // Where the coordinator serves its console.
  const std::string console_token_;
  std::string agent_listen_;
  std::string agent_http_;
  std::optional<PrivatePostgres> postgres_;
  std::optional<ChildProgram> coordinator_;
  std::optional<ChildProgram> agent_;
  std::optional<ChildProgram> simulation_;
};

constexpr Duration kFirstDelay = std::chrono::seconds(1);
constexpr Duration kLongestDelay = std::chrono::seconds(30);
constexpr Duration kStable = std::chrono::minutes(1);

// One program and its next restart.
class Watched {
 public:
  explicit Watched(const Supervised& program) : program_(program) {}

  // The time of the next restart; absent while the program runs.
  const std::optional<MonotonicTime>& restart_at() const { return restart_at_; }
  // Returns -1, which poll(2) ignores, while the program does not run.
  int pidfd() const { return restart_at_ ? -1 : program_.pidfd(); }

  void Ended() {
    if (Clock::Real().Now() - started_ >= kStable) delay_ = kFirstDelay;
    Postpone(program_.describe_end());
  }

  void Restart() {
    const Status status = program_.restart();
    if (status.reason() == Reason::kInterrupted) return;
    if (!status.ok()) return Postpone(status.message() + "\n" + status.hint());
    restart_at_.reset();
    started_ = Clock::Real().Now();
    PrintError("assay: " + program_.name + " is up again\n");
  }

 private:
  void Postpone(const std::string& why) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay_).count();
    PrintError("assay: " + why + (why.ends_with("\n") ? "" : "\n") + "assay: restarting " +
               program_.name + " in " + std::to_string(seconds) + " s\n");
    restart_at_ = Clock::Real().Now() + delay_;
    delay_ = std::min(2 * delay_, kLongestDelay);
  }

  const Supervised& program_;
  MonotonicTime started_ = Clock::Real().Now();
  Duration delay_ = kFirstDelay;
  std::optional<MonotonicTime> restart_at_;
};

// Restarts programs that exit, until `signals` (a signalfd) becomes readable. The delay before a
// restart is 1 s at first. It doubles, up to 30 s, each time a start fails or the program exits
// within a minute. Prints every exit and restart to stderr.
void Supervise(const std::vector<Supervised>& programs, int signals) {
  std::vector<Watched> watched(programs.begin(), programs.end());
  while (true) {
    std::vector<pollfd> polled = {{signals, POLLIN, 0}};
    bool restarting = false;
    for (const Watched& one : watched) {
      polled.push_back({one.pidfd(), POLLIN, 0});
      restarting = restarting || one.restart_at();
    }
    constexpr int kRestartCheckMs = 100;
    const int timeout = restarting ? kRestartCheckMs : -1;
    if (poll(polled.data(), polled.size(), timeout) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 0; i < watched.size(); ++i) {
      if (polled[i + 1].revents != 0) {
        watched[i].Ended();
      } else if (watched[i].restart_at() && *watched[i].restart_at() <= Clock::Real().Now()) {
        watched[i].Restart();
      }
    }
  }
}

ExitCode ReportFailedStart(const Status& status) {
  // The hint may be the end of a log.
  const std::string& hint = status.hint();
  const bool one_line = !hint.empty() && !hint.ends_with("\n");
  PrintError("assay: " + status.message() + "\n" + (one_line ? "hint: " + hint + "\n" : hint));
  return status.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
}

Result<ExitCode> Up(Context& context, UpOptions& options) {
  options.tls = context.client.tls;
  options.insecure = context.client.insecure;
  options.agent_tls.authorities = options.tls.authorities;
  // With authorities, the coordinator asks its clients for certificates.
  if (!options.no_agent && !options.tls.authorities.empty() &&
      options.agent_tls.certificate.empty()) {
    return InvalidArgument("the agent needs a node's certificate of its own")
        .WithHint("give --agent-tls-cert and --agent-tls-key, or --no-agent");
  }
  if (options.simulate > 0 && !options.tls.certificate.empty()) {
    return InvalidArgument(
               "--simulate works without TLS only: simulated nodes have no certificates")
        .WithHint("leave the --tls options out");
  }
  // The servers must continue even if the reader of our output exits.
  signal(SIGPIPE, SIG_IGN);
  // Signals are read from this descriptor, so that no child outlives this process.
  const FileDescriptor signals = BlockTerminationSignals();
  ASSAY_ASSIGN_OR_RETURN(const DataFolder folder, OpenDataFolder(options.data));
  Stack stack(options, folder.path, signals.get());
  const Status started = stack.Start();
  if (started.ok()) {
    stack.PrintReady();
    Supervise(stack.Programs(), signals.get());
    PrintError("Stopping ...\n");
  }
  stack.Stop();
  if (started.ok()) return kExitDone;
  if (started.reason() == Reason::kInterrupted) return ExitCodeOfSignal(ReadSignal(signals));
  return ReportFailedStart(started);
}

// Returns the default data folder: $XDG_DATA_HOME/assay, or a folder in the user's home. For root,
// returns /var/lib/assay, because PostgreSQL then runs as another user, who has no access to root's
// home.
std::string DefaultDataDirectory() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return std::string(data) + "/assay";
  }
  if (geteuid() == 0) return "/var/lib/assay";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && *home != '\0' ? home : "/var/tmp") + "/.local/share/assay";
}

}  // namespace

void AddUpCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("up", "Run everything here: private PostgreSQL, coordinator and an agent");
  auto options = std::make_shared<UpOptions>();
  options->data = DefaultDataDirectory();
  command->add_option("--data", options->data, "Folder of database, logs and agent state")
      ->capture_default_str();
  command
      ->add_option("--listen", options->listen,
                   "gRPC address of the coordinator; the agent takes the next port")
      ->capture_default_str();
  command
      ->add_option("--http", options->http,
                   "Address of the coordinator's /metrics; the agent takes the next port")
      ->capture_default_str();
  command
      ->add_option(
          "--console", options->console,
          "Address of the web console; \"\" for none. Beyond loopback it needs the two TLS "
          "files, and asks for the token in the URL that is printed")
      ->capture_default_str();
  command->add_option("--console-tls-cert", options->console_tls.certificate,
                      "PEM file: certificate chain of the console");
  command->add_option("--console-tls-key", options->console_tls.key,
                      "PEM file: private key of the console");
  command
      ->add_option("--console-host", options->console_hosts,
                   "Name under which browsers reach the console; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--agent-tls-cert", options->agent_tls.certificate,
                      "PEM file: the agent's certificate, with the role node");
  command->add_option("--agent-tls-key", options->agent_tls.key,
                      "PEM file: the key of --agent-tls-cert");
  command->add_flag("--no-agent", options->no_agent, "Only PostgreSQL and the coordinator");
  command
      ->add_option(
          "--simulate", options->simulate,
          "Also simulate this many nodes with eight H200 each (see `assay-agent simulate`)")
      ->check(CLI::Range(1, 10'000));
  command->footer(
      "A program that ends is started again, after 1 s at first and 30 s at most. Exit status: 0 "
      "after SIGINT or SIGTERM; 1 or 2 if a program cannot start; 130 or 143 after SIGINT or "
      "SIGTERM during the start.");
  OnRun(*command, context, options, Up);
}

}  // namespace assay::cli
