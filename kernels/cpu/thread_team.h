// A team of threads that run a function at the same time. The team keeps its threads, so that
// starting a function on them is cheap and can be repeated often.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/status.h"
#include "host/cpu.h"

namespace assay {

// The CPUs on which workers run.
enum class Pinning {
  kOneCpuEach,  // As long as the process may use enough CPUs.
  kNone         // The system decides. For workers that share CPUs with those of other processes.
};

// A team of worker threads. May be used only by a single thread, its owner, which waits while the
// workers run.
class ThreadTeam {
 public:
  // Starts the workers. Returns RESOURCE_EXHAUSTED (OUT_OF_THREADS) if the system refuses a thread.
  static Result<std::unique_ptr<ThreadTeam>> Start(int threads,
                                                   Pinning pinning = Pinning::kOneCpuEach);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  // Calls body(worker) on every worker thread, and returns once all calls have returned. Workers
  // are numbered from 0 to size() - 1.
  void Run(const std::function<void(int)>& body);

  // Returns the range of elements, [first, second), that `worker` should process if the team splits
  // up `elements` elements.
  std::pair<int64_t, int64_t> Share(int64_t elements, int worker) const;

 private:
  explicit ThreadTeam(Pinning pinning) : pinning_(pinning) {}
  void Work(int worker);

  const Pinning pinning_;

  // Written by the owner before it increments round_, read by the workers afterwards.
  const std::function<void(int)>* body_ = nullptr;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> working_{0};
  std::vector<std::thread> threads_;
};

// Returns `requested` if it is not 0, and otherwise the number of CPUs that this process may use.
inline int ThreadCount(int64_t requested) {
  return requested > 0 ? static_cast<int>(requested) : Cpu().threads;
}

// Returns INVALID_ARGUMENT if there are more than four threads per hardware thread. With more,
// results would mainly show how the system switches between threads, and other programs on the host
// would get little CPU time.
Status CheckThreadCount(int threads);

}  // namespace assay
