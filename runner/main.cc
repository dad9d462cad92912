// assay-runner: executes benchmark cases and verifies them.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "common/text.h"
#include "host/gpu_platform.h"
#include "kernels/registry.h"
#include "runner/arguments.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "runner/node_fault.h"
#include "runner/output.h"

namespace assay {
namespace {

constexpr char kUsage[] =
    "assay-runner " ASSAY_VERSION
    ": runs and verifies benchmarks on this machine\n"
    "\n"
    "  assay-runner list [NAME]       lists the benchmarks of this build, or one benchmark's\n"
    "                                 parameters and metrics\n"
    "  assay-runner run NAME [k=v...] [-o table|json] [--seed N] [--gpu N] [--counters]\n"
    "                   [--effort quick|standard|thorough]\n"
    "                                 runs one case; a collective starts its own ranks.\n"
    "                                 --counters adds hardware counters, from separate runs\n"
    "  assay-runner check NAME [k=v...]\n"
    "                                 checks whether parameters contradict each other;\n"
    "                                 needs no GPU\n"
    "  assay-runner selftest [NAME [k=v...]]... [--gpu N] [--require-gpu]\n"
    "                                 verifies all benchmarks, or the named ones, on every\n"
    "                                 GPU or on one. --require-gpu fails without a GPU, or\n"
    "                                 if CUDA does not offer all GPUs that NVML lists.\n"
    "                                 After Ctrl-C or SIGTERM it names the tests that were\n"
    "                                 still running\n"
    "  assay-runner describe          writes the benchmarks as a message to fd 3, or as text\n"
    "  assay-runner serve             runs a job of an agent: stdin and fd 3\n"
    "\n"
    "Exit codes: 0 done, 1 a case failed, 2 usage, 3 unsupported on this machine, 4 a rank\n"
    "was lost, 5 stdin was closed, 130 or 143 the self-test was ended by SIGINT or SIGTERM.\n";

// Prints `message` and the usage of the program. Returns kExitUsage.
int Usage(const std::string& message) {
  std::fprintf(stderr, "assay-runner: %s\n\n%s", message.c_str(), kUsage);
  return kExitUsage;
}

int List(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(ListBenchmarks(BuiltinBenchmarks()).c_str(), stdout);
    // If the machine has GPUs but none can be used, print why GPU benchmarks would fail. The list
    // above shows them as supported even then.
    if (const Status usable = CheckGpusUsable(Gpu()); !usable.ok()) {
      std::fprintf(stderr, "assay-runner: %s\n", usable.message().c_str());
    }
    return kExitDone;
  }
  const auto benchmark = BuiltinBenchmarks().Find(arguments[0]);
  if (!benchmark.ok()) return Refuse(benchmark.status());
  std::fputs(ShowBenchmark(**benchmark).c_str(), stdout);
  return kExitDone;
}

bool EventsAreOpen() { return fcntl(kEventsFd, F_GETFD) != -1; }

int DescribeOrList() {
  return EventsAreOpen() ? DescribeCommand(BuiltinBenchmarks(), kEventsFd) : List({});
}

int ServeJob() {
  if (!EventsAreOpen()) return Usage("serve: fd 3 is not open; only an agent starts this command");
  return ServeCommand(BuiltinBenchmarks(), STDIN_FILENO, kEventsFd);
}

// Returns false if output to stdout was lost, for example because the disk is full. A reader that
// closes the pipe early, as `head` does, is not an error.
bool OutputIsWritten() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool HasNoOptions(const std::string& command) {
  return command == "check" || command == "list" || command == "describe" || command == "serve";
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Usage("missing command");
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const auto asks = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (command == "help" || std::any_of(arguments.begin(), arguments.end(), asks)) {
    std::fputs(kUsage, stdout);
    return kExitDone;
  }
  if (command == "--version") {
    std::puts("assay-runner " ASSAY_VERSION);
    return kExitDone;
  }
  if (LooksLikeOption(command)) return Refuse(UnknownOption(command, ""));
  if (command == "run") return RunCaseCommand(BuiltinBenchmarks(), rest);
  if (command == "selftest") return SelftestCommand(BuiltinBenchmarks(), rest);
  const auto option = std::find_if(rest.begin(), rest.end(), LooksLikeOption);
  if (HasNoOptions(command) && option != rest.end()) return Refuse(UnknownOption(*option, command));
  if (command == "check") return CheckCommand(BuiltinBenchmarks(), rest);
  if (command == "list" && rest.size() <= 1) return List(rest);
  if (command == "describe" && rest.empty()) return DescribeOrList();
  if (command == "serve" && rest.empty()) return ServeJob();
  if (command == "selftest-gpu" && EventsAreOpen()) {
    return SelftestGpuCommand(BuiltinBenchmarks(), rest, kEventsFd);
  }
  if (command == "rank") return RankCommand(BuiltinBenchmarks(), rest);
  return Usage("unknown command or unexpected argument: " + Join(arguments, " "));
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  // Make all threads share one heap. By default, each thread reserves up to 128 MiB of address
  // space for its own heap, so threads may fail to start where address space is limited. Sharing
  // does not affect measurements, because no timed loop allocates memory.
  ::mallopt(M_ARENA_MAX, 1);
  signal(SIGPIPE, SIG_IGN);  // A closed pipe is an error of write().
  int code = assay::kExitFailed;
  try {
    code = assay::Main(std::vector<std::string>(argv + 1, argv + argc));
    // The standard library throws if it cannot get memory or start a thread.
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-runner: the system refused memory or threads: %s\n", error.what());
  }
  // Do not flush stdout after a signal, because a thread that is still running may hold stdout's
  // lock.
  if (code <= assay::kExitSignal && !assay::OutputIsWritten()) {
    std::fprintf(stderr, "assay-runner: cannot write the output\n");
    if (code == assay::kExitDone) code = assay::kExitFailed;
  }
  // Threads that watch stdin are still running and use objects that exit() would destroy.
  _exit(code);
}
