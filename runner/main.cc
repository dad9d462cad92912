// assay-runner: executes benchmark cases and verifies them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runner/arguments.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "runner/node_fault.h"
#include "runner/output.h"
#include "runner/selftest.h"
#include "runner/serve.h"

namespace assay {
namespace {

constexpr char kUsage[] =
    "assay-runner " ASSAY_VERSION
    ": measures what this machine delivers\n"
    "\n"
    "  assay-runner list [NAME]       benchmarks of this build; of one, its parameters\n"
    "  assay-runner run NAME [k=v...] [-o table|json] [--seed N] [--gpu N] [--counters]\n"
    "                                 one case; ranks=N starts its own ranks; --counters\n"
    "                                 adds hardware counters, from runs of their own\n"
    "  assay-runner check NAME [k=v...]\n"
    "                                 whether parameters go together; needs no GPU\n"
    "  assay-runner selftest [NAME [k=v...]]... [--gpu N] [--require-gpu]\n"
    "                                 verifies every benchmark, or these, at a small size\n"
    "                                 or with other parameters, on every GPU or on one.\n"
    "                                 Exit code 3 without the one that is asked for, and\n"
    "                                 with --require-gpu without any or where NVML lists one\n"
    "                                 that CUDA does not offer. After Ctrl-C or SIGTERM it names\n"
    "                                 the tests that were still running\n"
    "  assay-runner describe          the benchmarks as a message on fd 3, or as text\n"
    "  assay-runner serve             takes a job from an agent: stdin and fd 3\n"
    "\n"
    "Exit codes: 0 done, 1 a case failed, 2 usage, 3 unsupported here, 4 a rank was\n"
    "lost, 5 stopped by the end of stdin, 130 and 143 selftest by SIGINT and SIGTERM.\n";

int Usage(const std::string& message) {
  std::fprintf(stderr, "assay-runner: %s\n\n%s", message.c_str(), kUsage);
  return kExitUsage;
}

int List(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(ListBenchmarks(BuiltinBenchmarks()).c_str(), stdout);
    // Benchmarks on GPUs are supported then, and each run of one ends with this.
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
  return EventsAreOpen() ? Describe(BuiltinBenchmarks(), kEventsFd) : List({});
}

int ServeJob() {
  if (!EventsAreOpen()) return Usage("serve: fd 3 is not open; an agent starts this command");
  return Serve(BuiltinBenchmarks(), STDIN_FILENO, kEventsFd);
}

// Whether stdout took all. A full disk must not look like a result that was kept; a reader
// that has left, as `head` does, has what it wanted.
bool OutputIsWritten() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool HasNoOptions(const std::string& command) {
  return command == "check" || command == "list" || command == "describe" || command == "serve";
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Usage("a command is missing");
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
  if (LooksLikeOption(command)) return Refuse(UnknownOption(command, "assay-runner"));
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
  return Usage("\"" + command + "\" with these arguments is no command");
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // A closed pipe is an error of write().
  int code = assay::kExitFailed;
  try {
    code = assay::Main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {  // The standard library's: no memory, no threads.
    std::fprintf(stderr, "assay-runner: the system refused memory or threads: %s\n", error.what());
  }
  // After a signal, a thread that was left behind may hold stdout.
  if (code <= assay::kExitSignal && !assay::OutputIsWritten()) {
    std::fprintf(stderr, "assay-runner: cannot write the output\n");
    if (code == assay::kExitDone) code = assay::kExitFailed;
  }
  // Threads that watch stdin are still running: leave without destroying what they use.
  _exit(code);
}
