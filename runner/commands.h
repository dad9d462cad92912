// The commands of assay-runner. Each returns the exit code (exit_codes.h). Messages go to stderr,
// results to stdout.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/clock.h"
#include "kernels/registry.h"

namespace assay {

// Prints an error of the command line; returns kExitUsage.
int Refuse(const Status& status);

// NAME k=v... [-o table|json] [--seed N] [--gpu N] [--counters]: runs one case. The ranks of a
// collective are processes on this machine.
int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: prints to stdout which parameters contradict each other; returns kExitUsage then.
// Needs no GPU, so agents can check a case on a machine that cannot run it.
int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments);

// NAME k=v...: runs one rank of a gang that RunCaseCommand started (local_gang.h).
int RankCommand(const Registry& registry, const std::vector<std::string>& arguments);

struct SelftestTimes {
  // How often stderr names what is still running while nothing else happens.
  Duration patience = std::chrono::seconds(30);
  // How long the driver may take to list its GPUs. Without a persistence daemon it needs several
  // seconds for each of them.
  Duration listing_patience = std::chrono::minutes(2);
};

// [NAME [k=v...]]... [--gpu N] [--require-gpu]: verifies every benchmark, or the named ones, and
// prints one line for each and a summary. Given parameters replace those of the benchmark's
// self-test. Several GPUs are verified side by side, each in a process of its own; --gpu
// verifies one of them.
//
// SIGINT and SIGTERM end the self-test: it then says which tests were still running. A second
// signal ends the process at once. The caller should leave with _exit afterwards, because threads
// that wait for the driver may be left behind.
//
// Returns the first that applies:
//   kExitSignal + N   signal N ended the self-test,
//   kExitFailed       a test failed, or the driver did not list its GPUs in time,
//   kExitUsage        the given parameters contradict each other,
//   kExitUnsupported  this machine cannot run a named benchmark, or lacks a GPU that --gpu or
//                     --require-gpu asks for; without that GPU no test runs,
//   kExitDone.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    const SelftestTimes& times = {});

// Runs the tests of one of several GPUs in a process that SelftestCommand started. `arguments`
// are the GPU's number and the arguments of SelftestCommand. Writes each outcome to `events_fd`
// as a CaseResult whose case_index is the test's position.
int SelftestGpuCommand(const Registry& registry, const std::vector<std::string>& arguments,
                       int events_fd);

// Returns the declarations of all benchmarks as a message.
v1::RunnerDescription DescribeBenchmarks(const Registry& registry);

// Writes DescribeBenchmarks to `events_fd`.
int DescribeCommand(const Registry& registry, int events_fd);

// Runs one job of an agent (runner.proto): reads commands from one descriptor, writes events to
// another, and logs to stderr. Ends the process at once with kExitStopped when `commands_fd` ends
// or nobody reads an event.
int ServeCommand(const Registry& registry, int commands_fd, int events_fd);

}  // namespace assay
