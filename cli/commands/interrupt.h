// Handles Ctrl-C while a command waits.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "cli/commands/exit_code.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/subprocess.h"

namespace assay::cli {

// A handler of SIGINT and SIGTERM, active while this object exists. The first signal is only
// recorded; the second terminates the program. Thread-safe.
//
// Create this object before starting any threads, including those of a gRPC client. The signals are
// blocked only in threads started afterwards, so an earlier thread could receive them instead.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return signal_ != 0; }

  // Returns the exit code that shells report for a program killed by this signal: 130 for SIGINT or
  // 143 for SIGTERM. Requires requested().
  ExitCode exit_code() const { return ExitCodeOfSignal(signal_); }

  // Sets a function to run on another thread when the first signal arrives. If a signal has already
  // arrived, runs `action` immediately, on the calling thread. Replaces any previous function,
  // after waiting for it to return if it is running. A null `action` just removes the previous
  // function.
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
  std::atomic<int> signal_{0};  // The first signal; 0 for none.
  std::thread listener_;
};

// Reads one signal from a descriptor of BlockTerminationSignals. Returns 0 if none has arrived.
int ReadSignal(const FileDescriptor& signals);

// Blocks SIGINT and SIGTERM in the calling thread and in all threads it creates later. Returns a
// signalfd(2) from which these signals can be read.
FileDescriptor BlockTerminationSignals();

}  // namespace assay::cli
