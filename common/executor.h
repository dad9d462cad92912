// Runs tasks on a pool of threads. gRPC callbacks share a few threads, so they must not block.
// Instead, they post work that may block, such as database queries and file access, to an executor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/clock.h"

namespace assay {

// Thread-safe. Tasks may post tasks. An exception that leaves a task is logged and dropped.
class Executor {
 public:
  using Task = std::function<void()>;

  virtual ~Executor() = default;
  // Runs `task` soon, on a thread of the executor.
  virtual void Post(Task task) = 0;
  // Runs `task` once `delay` has passed.
  virtual void PostAfter(Duration delay, Task task) = 0;
};

// Creates an executor with `threads` threads named `name`. Its destructor discards tasks that have
// not started and waits for running ones to finish.
std::unique_ptr<Executor> NewThreadPool(int threads, std::string name);

// Runs `task` on the executor and waits for it to finish. Must not be called from the executor's
// only thread.
void RunOn(Executor* executor, const std::function<void()>& task);

}  // namespace assay
