// assay-agent: runs once per node. Measures for a coordinator or a single caller.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "agent/agent_process.h"
#include "agent/options.h"
#include "common/log.h"
#include "common/ready_line.h"
#include "common/units.h"

namespace assay::agent {
namespace {

// The time from SIGTERM to the end of the process, regardless of drivers and coordinators.
constexpr Duration kMostEndTime = std::chrono::milliseconds(9500);

// Returns the exit code.
int Main(int argc, char** argv) {
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (const Status status = InitLog("assay-agent", parsed.options->log_level); !status.ok()) {
    std::cerr << "assay-agent: --log-level: " << status.message() << "\n";
    return 2;
  }
  // Block SIGTERM and SIGINT before any thread starts, because every thread inherits the mask. Only
  // sigwait below then receives these signals.
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

  auto agent = AgentProcess::Start(*parsed.options);
  if (!agent.ok()) {
    std::cerr << "assay-agent: " << agent.status() << "\n";
    // The pipe may be closed; the text above is for people.
    static_cast<void>(TellFailed(parsed.options->ready_fd, agent.status()));
    return agent.status().code() == Code::kInvalidArgument ? 2 : 1;
  }
  if (const Status told = TellReady(parsed.options->ready_fd, (*agent)->ReadyLine()); !told.ok()) {
    Log().warn("{}", told.message());
  }
  signalled->get_future().wait();
  agent->reset();
  return 0;
}

}  // namespace
}  // namespace assay::agent

int main(int argc, char** argv) { return assay::agent::Main(argc, argv); }
