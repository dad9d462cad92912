// An executor that runs tasks when told, in order, on the caller's thread.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "common/executor.h"
#include "common/mutex.h"
#include "tests/virtual_clock.h"

namespace assay {

class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(VirtualClock& clock) : clock_(clock) {}

  void Post(Task task) override { ready_.push_back(std::move(task)); }
  void PostAfter(Duration delay, Task task) override {
    delayed_.emplace(clock_.Now() + delay, std::move(task));
  }

  // Runs all due tasks, including those that they post.
  void RunReady() {
    for (;;) {
      while (!delayed_.empty() && delayed_.begin()->first <= clock_.Now()) {
        ready_.push_back(std::move(delayed_.begin()->second));
        delayed_.erase(delayed_.begin());
      }
      if (ready_.empty()) return;
      Task task = std::move(ready_.front());
      ready_.pop_front();
      task();
    }
  }

  // Moves the clock from one delayed task to the next.
  void Advance(Duration by) {
    const MonotonicTime end = clock_.Now() + by;
    RunReady();
    while (!delayed_.empty() && delayed_.begin()->first <= end) {
      clock_.Advance(delayed_.begin()->first - clock_.Now());
      RunReady();
    }
    clock_.Advance(end - clock_.Now());
    RunReady();
  }

 private:
  VirtualClock& clock_;
  std::deque<Task> ready_;
  std::multimap<MonotonicTime, Task> delayed_;
};

}  // namespace assay
