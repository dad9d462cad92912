// Waiting for SIGINT and SIGTERM, and output that such a signal can interrupt.
#pragma once

#include <string>

#include "common/subprocess.h"

namespace assay {

// From construction on, SIGINT and SIGTERM no longer end the process but make fd() readable, for
// good. Signals that the process ignores stay ignored. At most one instance exists at a time.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int fd() const { return signals_.get(); }
  // The number of the last signal that arrived; 0 if none has.
  static int number();

 private:
  FileDescriptor signals_;
};

// Prints lines to a descriptor that may be a full pipe. Such a pipe blocks its writer for as long
// as its reader does not read, so each write waits for room first. Used by one thread.
class StoppableOutput {
 public:
  StoppableOutput(int fd, const StopSignal& signal) : fd_(fd), signal_(signal) {}

  // Waits for room until a signal arrives, and for one second after it. If there is no room by
  // then, drops this line and all further ones.
  void Print(const std::string& line);

  // Whether a line was lost because of an error such as a full disk. A reader that has closed its
  // pipe is no error.
  bool failed() const { return failed_; }

 private:
  bool WaitForRoom();

  const int fd_;
  const StopSignal& signal_;
  bool dropped_ = false;
  bool failed_ = false;
};

}  // namespace assay
