// Threads that run one function together, again and again, with little delay.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// Where workers run.
enum class Pinning {
  kOneCpuEach,  // As far as the process may use as many.
  kNone         // Where the system puts them: other processes' workers want the same CPUs.
};

// `threads` workers. Used by one thread, which waits while they work.
class ThreadTeam {
 public:
  // RESOURCE_EXHAUSTED (OUT_OF_THREADS) if the system refuses that many.
  static Result<std::unique_ptr<ThreadTeam>> Start(int threads,
                                                   Pinning pinning = Pinning::kOneCpuEach);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  // Calls body(worker) on every worker, 0 to size() - 1, and returns when all have.
  void Run(const std::function<void(int)>& body);

  // The part of `elements` that `worker` handles: [first, second).
  std::pair<int64_t, int64_t> Share(int64_t elements, int worker) const;

 private:
  explicit ThreadTeam(Pinning pinning) : pinning_(pinning) {}
  void Work(int worker);

  const Pinning pinning_;

  // Written by the owner before round_ moves, read by workers after.
  const std::function<void(int)>* body_ = nullptr;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> working_{0};
  std::vector<std::thread> threads_;
};

// `requested`, or all CPUs that this process may use if it is 0.
int ThreadCount(int64_t requested);

// INVALID_ARGUMENT for more than four threads for each that the hardware runs at once: what
// is measured then is how they take turns, and the host is busy with nothing else.
Status CheckThreadCount(int threads);

}  // namespace assay
