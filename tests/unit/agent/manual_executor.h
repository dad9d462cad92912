// An executor that runs what is due when a test says so, on a virtual clock.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "common/executor.h"
#include "common/mutex.h"
#include "tests/virtual_clock.h"

namespace assay::agent {

// Post is thread-safe; the rest belongs to the test's thread.
class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(VirtualClock* clock) : clock_(clock) {}

  void Post(Task task) override {
    MutexLock lock(mutex_);
    ready_.push_back(std::move(task));
  }

  void PostAfter(Duration delay, Task task) override {
    MutexLock lock(mutex_);
    delayed_.emplace(clock_->Now() + delay, std::move(task));
  }

  // Everything that is due, and what that posts.
  void RunDue() {
    while (Task task = Next()) task();
  }

  // Moves the clock, stopping wherever something becomes due.
  void Advance(Duration by) {
    const MonotonicTime end = clock_->Now() + by;
    RunDue();
    for (MonotonicTime next = NextTime(); next <= end; next = NextTime()) {
      clock_->Advance(next - clock_->Now());
      RunDue();
    }
    clock_->Advance(end - clock_->Now());
    RunDue();
  }

 private:
  Task Next() {
    MutexLock lock(mutex_);
    while (!delayed_.empty() && delayed_.begin()->first <= clock_->Now()) {
      ready_.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (ready_.empty()) return nullptr;
    Task task = std::move(ready_.front());
    ready_.pop_front();
    return task;
  }

  MonotonicTime NextTime() {
    MutexLock lock(mutex_);
    return delayed_.empty() ? MonotonicTime::max() : delayed_.begin()->first;
  }

  VirtualClock* const clock_;
  Mutex mutex_;
  std::deque<Task> ready_ ASSAY_GUARDED_BY(mutex_);
  std::multimap<MonotonicTime, Task> delayed_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
