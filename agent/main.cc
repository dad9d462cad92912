// The assay-agent program, which runs on every node and executes benchmarks for a coordinator or a
// single caller. `assay-agent simulate` simulates many nodes instead.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/agent_process.h"
#include "agent/join/background.h"
#include "agent/join/enrolment.h"
#include "agent/join/join.h"
#include "agent/options.h"
#include "agent/simulate/options.h"
#include "agent/simulate/simulated_fleet.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/ready_line.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/proxy.h"

namespace assay::agent {
namespace {

// The time from SIGTERM to the end of the process, regardless of drivers and coordinators.
constexpr Duration kMostEndTime = std::chrono::milliseconds(9500);
// The time for which `join --detach` waits.
constexpr Duration kAttachPatience = std::chrono::minutes(1);

// Waits for the first reason to end. Thread-safe.
class Ending {
 public:
  void Signalled() { End(Status::Ok()); }
  void Refused(const Status& why) { End(why); }

  // Returns OK after a signal, and otherwise the error that ends the program.
  Status Await() {
    MutexLock lock(mutex_);
    while (!why_) changed_.Wait(mutex_);
    return *why_;
  }

 private:
  void End(const Status& why) {
    MutexLock lock(mutex_);
    if (why_) return;
    why_ = why;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::optional<Status> why_ ASSAY_GUARDED_BY(mutex_);
};

// Returns 2 for errors that require human intervention, to keep service managers from restarting
// the agent, and 1 for all other errors.
int ExitCodeOf(const Status& error) {
  if (error.code() == Code::kInvalidArgument) return 2;
  switch (error.reason()) {
    case Reason::kBadCertificate:
    case Reason::kBanned:
    case Reason::kClockSkew:
    case Reason::kCopiedFolder:
    case Reason::kInviteExpired:
    case Reason::kInviteRevoked:
    case Reason::kInviteUsed:
    case Reason::kKeyTaken:
    case Reason::kNoAuthority:
    case Reason::kNodeNameTaken:
    case Reason::kNoIdentity:
    case Reason::kTlsRequired:
    case Reason::kUnknownInvite:
    case Reason::kWrongPeer:
      return 2;
    default:
      return 1;
  }
}

// Prints one line with cause and cure.
int Report(const Status& error) {
  std::cerr << "assay-agent: " << Sanitize(error.message())
            << (error.hint().empty() ? "" : "; " + Sanitize(error.hint())) << " ("
            << ReasonWord(error.reason()) << ")\n";
  return ExitCodeOf(error);
}

// Runs the agent or a simulated fleet until it exits, and returns the exit code. First calls
// `start` to create the object to run. If that succeeds, writes a line about the object, the result
// of `ready_line`, to `ready_fd`, and waits for SIGTERM, SIGINT, or a request from the object to
// exit.
template <typename StartFunction, typename LineFunction>
int RunUntilSignal(const std::string& log_level, int ready_fd, const StartFunction& start,
                   const LineFunction& ready_line) {
  if (const Status status = InitLog("assay-agent", log_level); !status.ok()) {
    std::cerr << "assay-agent: --log-level: " << status.message() << "\n";
    return 2;
  }
  // Block SIGTERM and SIGINT before starting any threads. All threads inherit this signal mask, so
  // only sigwait below receives these signals.
  sigset_t ending_signals;
  sigemptyset(&ending_signals);
  sigaddset(&ending_signals, SIGTERM);
  sigaddset(&ending_signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending_signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  const auto ending = std::make_shared<Ending>();
  std::thread([ending_signals, ending] {
    int signal = 0;
    while (::sigwait(&ending_signals, &signal) != 0) {
    }
    Log().info("ending on signal {}", signal);
    ending->Signalled();
    // Exit after a time limit even if the agent is still stopping, because a job may hang in the
    // GPU driver. The kernel then kills the processes that run benchmarks.
    std::this_thread::sleep_for(kMostEndTime);
    Log().warn("the agent did not end within {}; ending without its cleanup",
               FormatDuration(kMostEndTime));
    ::_exit(0);
  }).detach();

  auto agent = start(ending);
  if (!agent.ok()) {
    // Ignore errors: the pipe may be closed, and the message is only for people.
    static_cast<void>(TellFailed(ready_fd, agent.status()));
    return Report(agent.status());
  }
  if (const Status told = TellReady(ready_fd, ready_line(**agent)); !told.ok()) {
    Log().warn("{}", told.message());
  }
  const Status why = ending->Await();
  agent->reset();
  return why.ok() ? 0 : Report(why);
}

int Simulate(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<SimulateOptions> options = ParseSimulateOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  return RunUntilSignal(
      options->log_level, options->ready_fd,
      [&](const auto&) { return SimulatedFleet::Start(*options); },
      [](const SimulatedFleet&) { return std::string(R"({"grpc": "", "http": ""})"); });
}

// Writes to the descriptor of AgentOptions::attached_fd, once.
class AttachedReport {
 public:
  explicit AttachedReport(int fd) : fd_(fd) {}
  void Attached() {
    const int fd = fd_.exchange(-1);
    if (fd >= 0) static_cast<void>(TellReady(fd, R"({"grpc": "", "http": ""})"));
  }
  void Failed(const Status& error) {
    const int fd = fd_.exchange(-1);
    if (fd >= 0) static_cast<void>(TellFailed(fd, error));
  }

 private:
  std::atomic<int> fd_;
};

// Runs the agent. Calls `attached` at each begin of a session.
int RunAgent(AgentOptions options, const Rental& rental, const std::function<void()>& attached) {
  const auto report = std::make_shared<AttachedReport>(options.attached_fd);
  return RunUntilSignal(
      options.log_level, options.ready_fd,
      [&](const std::shared_ptr<Ending>& ending) -> Result<std::unique_ptr<AgentProcess>> {
        AgentEvents events;
        events.attached = [report, attached] {
          report->Attached();
          if (attached) attached();
        };
        events.refused = [report, ending](const Status& why) {
          report->Failed(why);
          ending->Refused(why);
        };
        UseRental(rental, &options);
        const Status enrolled = UseEnrolment(rental, &options);
        auto agent = enrolled.ok() ? AgentProcess::Start(options, std::move(events)) : enrolled;
        if (!agent.ok()) report->Failed(agent.status());
        return agent;
      },
      [](const AgentProcess& agent) { return agent.ReadyLine(); });
}

int Join(int argc, char** argv) {
  ParsedJoin parsed = ParseJoinOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  JoinOptions& options = *parsed.options;
  ::signal(SIGPIPE, SIG_IGN);
  const Rental rental = DetectRental(std::getenv);
  if (const Status joined = JoinFleet(rental, options); !joined.ok()) return Report(joined);
  options.agent.name.clear();  // The certificate has it.
  const std::string data = options.agent.data;
  if (!options.detach) {
    return RunAgent(std::move(options.agent), rental, [said = false]() mutable {
      if (!std::exchange(said, true)) std::cout << "attached; Ctrl-C ends the agent" << std::endl;
    });
  }
  const std::string program = ExecutableDirectory() + "/assay-agent";
  std::vector<std::string> command = {program};
  command.insert(command.end(), options.agent_arguments.begin(), options.agent_arguments.end());
  const Status started =
      StartInBackground({data, std::move(command), kAttachedOption}, kAttachPatience);
  const std::string stop = "to end it: " + program + " stop --data " + data;
  if (started.ok()) {
    std::cout << "attached; the agent runs in the background\nlog: " << BackgroundLog(data) << "\n"
              << stop << std::endl;
    return 0;
  }
  if (started.reason() == Reason::kAlreadyRunning) {
    std::cout << started.message() << "\n" << stop << std::endl;
    return 0;
  }
  if (started.reason() == Reason::kNotReady) std::cout << stop << std::endl;
  return Report(started);
}

int Stop(int argc, char** argv) {
  const ParsedStop parsed = ParseStopOptions(argc, argv);
  if (!parsed.data) return parsed.exit_code;
  const Status stopped = StopBackground(*parsed.data);
  if (!stopped.ok()) return Report(stopped);
  std::cout << "stopped" << std::endl;
  return 0;
}

int Main(int argc, char** argv) {
  rpc::ShareProxyWithGrpc();
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "simulate") return Simulate(argc - 1, argv + 1);
  if (command == "join") return Join(argc - 1, argv + 1);
  if (command == "stop") return Stop(argc - 1, argv + 1);
  ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  return RunAgent(*std::move(parsed.options), DetectRental(std::getenv), nullptr);
}

}  // namespace
}  // namespace assay::agent

int main(int argc, char** argv) { return assay::agent::Main(argc, argv); }
