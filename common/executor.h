// Runs tasks on its own threads. gRPC's callbacks share a few threads and must not block, so they
// post work that may block (PostgreSQL, files, processes) to an executor.
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

// Creates an executor with a fixed number of threads, which are called `name`. The destructor
// discards tasks that have not started and waits for those that are running.
std::unique_ptr<Executor> NewThreadPool(int threads, std::string name);

}  // namespace assay
