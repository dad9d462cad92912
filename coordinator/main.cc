// assay-coordinator: schedules campaigns, sends jobs to agents and stores results in PostgreSQL.
#include <signal.h>

#include <ctime>
#include <iostream>

#include "common/log.h"
#include "common/ready_line.h"
#include "coordinator/coordinator_process.h"
#include "coordinator/options.h"

namespace assay::coordinator {
namespace {

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  return ending;
}

// Waits for `time`. Returns false if a signal asked the process to end.
bool WaitUnlessEnding(Duration time) {
  const sigset_t ending = EndingSignals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{static_cast<std::time_t>(seconds.count()),
                         static_cast<long>((time - seconds).count())};
  return ::sigtimedwait(&ending, nullptr, &timeout) < 0;
}

// Returns the exit code.
int Main(int argc, char** argv) {
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (const Status status = InitLog("assay-coordinator", parsed.options->log_level); !status.ok()) {
    std::cerr << "assay-coordinator: --log-level: " << status.message() << "\n";
    return 2;
  }
  // Block the signals before any thread starts: all threads inherit the mask, and only sigwait
  // receives them.
  const sigset_t ending = EndingSignals();
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  auto process = CoordinatorProcess::Start(*parsed.options, WaitUnlessEnding);
  if (!process.ok()) {
    std::cerr << "assay-coordinator: " << process.status() << "\n";
    // Nobody may be left to read it; the text above is for people.
    static_cast<void>(TellFailed(parsed.options->ready_fd, process.status()));
    return process.status().code() == Code::kInvalidArgument ? 2 : 1;
  }
  if (const Status told = TellReady(parsed.options->ready_fd, (*process)->ReadyLine());
      !told.ok()) {
    Log().warn("{}", told.message());
  }
  int signal = 0;
  while (::sigwait(&ending, &signal) != 0) {
  }
  Log().info("ending on signal {}", signal);
  process.value().reset();
  return 0;
}

}  // namespace
}  // namespace assay::coordinator

int main(int argc, char** argv) { return assay::coordinator::Main(argc, argv); }
