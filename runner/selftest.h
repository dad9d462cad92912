// `assay-runner selftest`: whether this machine's benchmarks compute correctly.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "kernels/registry.h"

namespace assay {

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
// SIGINT and SIGTERM end the self-test: it then says which tests were still running. The caller
// should leave with _exit afterwards, because threads that wait for the driver may be left behind.
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

}  // namespace assay
