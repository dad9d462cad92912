// The commands of assay-runner, the program that runs benchmarks on this machine. Each command
// prints results to stdout and messages to stderr, and returns an exit code (see exit_codes.h).
#pragma once

#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/clock.h"
#include "kernels/registry.h"

namespace assay {

// Prints an error about the command line and returns kExitUsage.
int Refuse(const Status& status);

// Implements `assay-runner run NAME k=v... [-o table|json] [--seed N] [--gpu N] [--counters]`,
// which runs one benchmark with the given parameters. A benchmark of a collective operation runs as
// several processes (ranks), all on this machine.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// Implements `assay-runner check NAME k=v...`. If the given parameters contradict each other,
// prints the contradiction and returns kExitUsage. Needs no GPU, so that agents can check
// parameters on machines that cannot run the benchmark.
int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments);

// Implements `assay-runner rank NAME k=v...`, which runs one rank of a collective benchmark. Not
// meant for users: RunCaseCommand starts one such process for each rank except its own (see
// local_gang.h).
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

struct SelftestTimes {
  // The time without any output after which the tests that are still running are listed on stderr.
  Duration patience = std::chrono::seconds(30);
  // Time limit for the GPU driver to list the GPUs. Without NVIDIA's persistence daemon, the driver
  // takes several seconds per GPU.
  Duration listing_patience = std::chrono::minutes(2);
};

// Implements `assay-runner selftest [NAME [k=v...]]... [--gpu N] [--require-gpu]`. Verifies the
// named benchmarks, or all benchmarks if none is named. Prints one line per test and a summary.
// Given parameters override those of the benchmark's self-test. If there are several GPUs, each is
// verified by its own process, in parallel.
//
// SIGINT and SIGTERM end the self-test, which then prints the tests that were still running. A
// second signal ends the process at once. Once this function has returned, the caller must exit
// with _exit(), because some threads may still be waiting for the driver.
//
// Returns the first of these exit codes that applies:
//   kExitSignal + N   signal N ended the self-test,
//   kExitFailed       a test failed, or the driver did not list its GPUs in time,
//   kExitUsage        the given parameters contradict each other,
//   kExitUnsupported  this machine cannot run a named benchmark, or lacks a GPU that --gpu or
//                     --require-gpu asks for (in that case no test runs),
//   kExitDone         otherwise.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    const SelftestTimes& times = {});

// Runs the self-test on one GPU. On a machine with several GPUs, SelftestCommand starts one child
// process per GPU, which calls this. `arguments` holds the GPU's number, followed by the arguments
// of SelftestCommand. Writes the outcome of each test to `events_fd` as a CaseResult whose
// case_index is the position of the test.
int SelftestGpuCommand(const Registry& registry, const std::vector<std::string>& arguments,
                       int events_fd);

// Returns the declarations of all benchmarks as a message.
v1::RunnerDescription DescribeBenchmarks(const Registry& registry);

// Writes the message of DescribeBenchmarks to `events_fd`.
int DescribeCommand(const Registry& registry, int events_fd);

// Runs one job for an agent, using the protocol in runner.proto. Reads commands from `commands_fd`,
// writes events to `events_fd` and logs to stderr. Exits the process at once with kExitStopped if
// the agent closes `commands_fd` or stops reading events.
int ServeCommand(const Registry& registry, int commands_fd, int events_fd);

}  // namespace assay
