// assay-coordinator: schedules campaigns, sends jobs to agents and stores results in PostgreSQL.
#include <malloc.h>
#include <signal.h>

#include <iostream>
#include <memory>
#include <optional>

#include "common/log.h"
#include "common/ready_line.h"
#include "coordinator/joining.h"
#include "coordinator/options.h"
#include "coordinator/process.h"

namespace assay::coordinator {
namespace {

int ExitStatus(const Status& status) {
  return status.code() == Code::kInvalidArgument ? kUsageError : 1;
}

int Invite(const CoordinatorOptions& options) {
  Status made;
  const auto database = OpenCurrentDatabase(options.database);
  made = database.ok() ? RunInvite(options, (*database)->identities()) : database.status();
  if (made.ok()) return 0;
  std::cerr << "assay-coordinator: " << made << "\n";
  return ExitStatus(made);
}

// Returns the exit code.
int Main(int argc, char** argv) {
  // Limit malloc to two heaps. Otherwise, every thread that parses messages would hold on to a heap
  // as large as the largest message it has ever parsed.
  ::mallopt(M_ARENA_MAX, 2);
  int exit_status = 0;
  const std::optional<CoordinatorOptions> options = ParseOptions(argc, argv, exit_status);
  if (!options) return exit_status;
  // Block SIGTERM and SIGINT before any thread starts, because threads inherit the mask. Only the
  // sigwait below then receives these signals.
  const sigset_t ending = EndingSignals();
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  if (options->invite) return Invite(*options);

  auto process = std::make_unique<Process>();
  if (const Status started = process->Start(*options); !started.ok()) {
    std::cerr << "assay-coordinator: " << started << "\n";
    // Also report the error to the program that started this process. It may already have exited,
    // so ignore failures here.
    static_cast<void>(TellFailed(options->ready_fd, started));
    return ExitStatus(started);
  }
  if (const Status told = TellReady(options->ready_fd, process->ReadyLine()); !told.ok()) {
    Log().warn("{}", told.message());
  }
  int signal = 0;
  while (::sigwait(&ending, &signal) != 0) {
  }
  Log().info("ending on signal {}", signal);
  process = nullptr;
  return 0;
}

}  // namespace
}  // namespace assay::coordinator

int main(int argc, char** argv) { return assay::coordinator::Main(argc, argv); }
