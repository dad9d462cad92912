// assay-agent: one a node. Measures for a coordinator, or for whoever asks.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "agent/agent_process.h"
#include "agent/options.h"
#include "common/log.h"

namespace assay::agent {
namespace {

// One line, then closed: whoever waits sees either the line or the end.
void TellReady(int fd, const std::string& line) {
  if (fd < 0) return;
  const std::string text = line + "\n";
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    Log().warn("cannot write the addresses to --ready-fd {}", fd);
  }
  ::close(fd);
}

// The exit code.
int Main(int argc, char** argv) {
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (const Status status = InitLog("assay-agent", parsed.options->log_level); !status.ok()) {
    std::cerr << "assay-agent: --log-level: " << status.message() << "\n";
    return 2;
  }
  // Before any thread starts, so that all inherit it and only sigwait sees them.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  auto agent = AgentProcess::Start(*parsed.options);
  if (!agent.ok()) {
    std::cerr << "assay-agent: " << agent.status() << "\n";
    return agent.status().code() == Code::kInvalidArgument ? 2 : 1;
  }
  TellReady(parsed.options->ready_fd, (*agent)->ReadyLine());
  int signal = 0;
  while (::sigwait(&ending, &signal) != 0) {
  }
  Log().info("ending on signal {}", signal);
  agent->reset();
  return 0;
}

}  // namespace
}  // namespace assay::agent

int main(int argc, char** argv) { return assay::agent::Main(argc, argv); }
