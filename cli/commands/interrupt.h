// Handles Ctrl-C while a command waits.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/subprocess.h"

namespace assay::cli {

// While an object exists, the first SIGINT or SIGTERM is recorded and the second one ends the
// program. Create it before any other thread (a client starts some), because a thread that does
// not block the signals would receive them. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return requested_; }

  // Runs `action` on another thread when the signal arrives, or at once if it has arrived. Replaces
  // the previous action and waits until that one does not run; null removes it.
  void SetAction(std::function<void()> action);

  // Blocks for `duration` or until a signal arrives. Returns true for a signal.
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

// Blocks SIGINT and SIGTERM in this thread and in threads that it starts later, and returns a
// signalfd(2) for them.
FileDescriptor BlockTerminationSignals();

}  // namespace assay::cli
