// Ctrl-C while something is being watched.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/subprocess.h"

namespace assay::cli {

// While it lives, SIGINT and SIGTERM do not end the program but are noted; a
// second one ends it at once. Make it before any other thread exists (a client
// starts some), or they take the signal first. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return requested_; }

  // `action` runs when the signal comes, or now if it has come; on another
  // thread. Replaces the action set before; null for none. Does not return while
  // the old action runs.
  void SetAction(std::function<void()> action);

  // True if the signal came before `duration` had passed.
  bool WaitFor(Duration duration);

 private:
  void Listen();

  FileDescriptor signals_;
  FileDescriptor end_;  // Written to when the listener is to end.
  Mutex mutex_;
  CondVar changed_;
  std::function<void()> action_ ASSAY_GUARDED_BY(mutex_);
  std::atomic<bool> requested_{false};
  std::thread listener_;
};

// A signalfd(2) for SIGINT and SIGTERM, which no longer end this thread or those
// that it starts from now on.
FileDescriptor BlockTerminationSignals();

}  // namespace assay::cli
