// The program assay-agent, which runs once per node and executes benchmarks for a coordinator or a
// single caller. `assay-agent simulate` simulates many nodes instead.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/agent_process.h"
#include "agent/options.h"
#include "agent/simulate/options.h"
#include "agent/simulate/simulated_fleet.h"
#include "common/log.h"
#include "common/ready_line.h"
#include "common/units.h"

namespace assay::agent {
namespace {

// The time from SIGTERM to the end of the process, regardless of drivers and coordinators.
constexpr Duration kMostEndTime = std::chrono::milliseconds(9500);

// Calls `start`, which returns a running process object or an error, and waits for SIGTERM or
// SIGINT. Writes the line that `ready_line` returns for this object to `ready_fd`. Returns the exit
// code.
template <typename StartFunction, typename LineFunction>
int RunUntilSignal(const std::string& log_level, int ready_fd, const StartFunction& start,
                   const LineFunction& ready_line) {
  if (const Status status = InitLog("assay-agent", log_level); !status.ok()) {
    std::cerr << "assay-agent: --log-level: " << status.message() << "\n";
    return 2;
  }
  // Block SIGTERM and SIGINT before any thread is started. Every thread then inherits this signal
  // mask, so only sigwait below receives these signals.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  const auto signalled = std::make_shared<std::promise<void>>();
  std::thread([ending, signalled] {
    int signal = 0;
    while (::sigwait(&ending, &signal) != 0) {
    }
    Log().info("ending on signal {}", signal);
    signalled->set_value();
    // The start, or the end of a job, may hang in a driver. The kernel kills the runners.
    std::this_thread::sleep_for(kMostEndTime);
    Log().warn("the agent did not end within {}; ending without its cleanup",
               FormatDuration(kMostEndTime));
    ::_exit(0);
  }).detach();

  auto agent = start();
  if (!agent.ok()) {
    std::cerr << "assay-agent: " << agent.status() << "\n";
    // The pipe may be closed; the text above is for people.
    static_cast<void>(TellFailed(ready_fd, agent.status()));
    return agent.status().code() == Code::kInvalidArgument ? 2 : 1;
  }
  if (const Status told = TellReady(ready_fd, ready_line(**agent)); !told.ok()) {
    Log().warn("{}", told.message());
  }
  signalled->get_future().wait();
  agent->reset();
  return 0;
}

int Simulate(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<SimulateOptions> options = ParseSimulateOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  return RunUntilSignal(
      options->log_level, options->ready_fd, [&] { return SimulatedFleet::Start(*options); },
      [](const SimulatedFleet&) { return std::string(R"({"grpc": "", "http": ""})"); });
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "simulate") return Simulate(argc - 1, argv + 1);
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  return RunUntilSignal(
      parsed.options->log_level, parsed.options->ready_fd,
      [&] { return AgentProcess::Start(*parsed.options); },
      [](const AgentProcess& agent) { return agent.ReadyLine(); });
}

}  // namespace
}  // namespace assay::agent

int main(int argc, char** argv) { return assay::agent::Main(argc, argv); }
