// A gang of processes for tests: the caller is rank 0, the others are forked from it.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"

namespace assay {

// Returns the number of GPUs, determined by another process, because this one must still fork.
inline int GpuCount() {
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(cudaGetDeviceCount(&count) == cudaSuccess ? count : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

// Runs `body` on `ranks` ranks, each in its own process with GPU number `rank`, and waits for all.
// Returns true if all returned true. Call before CUDA is used, because CUDA does not survive a
// fork.
inline bool OnRanks(int ranks, const std::function<bool(const RunContext&)>& body) {
  constexpr Duration kMeeting = std::chrono::seconds(30);
  const auto rendezvous = ListenForPeers("127.0.0.1");
  if (!rendezvous.ok()) return false;
  RunContext context;
  context.world_size = ranks;
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return false;
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    const auto peers = JoinPeers((*rendezvous)->token(), rank, ranks, kMeeting);
    context.rank = context.gpu = rank;
    if (peers.ok()) context.peers = peers->get();
    const bool passed = peers.ok() && body(context);
    std::fflush(stdout);
    _exit(passed ? 0 : 1);
  }
  bool passed = false;
  {
    const auto peers = (*rendezvous)->Accept(ranks, {}, kMeeting);
    if (peers.ok()) context.peers = peers->get();
    passed = peers.ok() && body(context);
    // Its end tells ranks that still wait for a lost one that the gang has ended.
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    passed = passed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return passed;
}

// Returns whether `verdict` says `passes`, and prints what is wrong if not.
inline bool Passed(const RunContext& context, const std::string& what,
                   const Result<Verdict>& verdict, bool passes) {
  if (verdict.ok() && verdict->passed == passes) return true;
  std::printf("FAIL rank %d, %s: %s\n", context.rank, what.c_str(),
              verdict.ok() ? (passes ? verdict->detail : "a fault was not found").c_str()
                           : verdict.status().ToString().c_str());
  return false;
}

// Runs `body` on `ranks` ranks, prints whether it passed and returns the exit status of the test,
// which is 77 (skipped) on a host with fewer GPUs.
inline int TestOnRanks(int ranks, const std::function<bool(const RunContext&)>& body) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const int gpus = GpuCount(); gpus < ranks) {
    std::printf("skipped: needs %d GPUs, there are %d\n", ranks, gpus);
    return 77;
  }
  const bool passed = OnRanks(ranks, body);
  std::printf("%s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

}  // namespace assay
