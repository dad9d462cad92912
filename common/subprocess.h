// Child processes: started with exactly the file descriptors, environment and user
// they should have, in a process group of their own, waited for by pidfd.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace assay {

// An owned file descriptor; closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Close();

 private:
  int fd_ = -1;
};

// A pipe with close-on-exec ends.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
Result<Pipe> MakePipe();

struct SubprocessOptions {
  // argv[0] is the program: a path, or a name looked up on PATH.
  std::vector<std::string> argv;
  // The whole environment of the child; absent: ours.
  std::optional<std::vector<std::string>> environment;
  std::string working_directory;
  // Child's descriptor -> ours. 0, 1 and 2 are /dev/null unless named here; all
  // others are closed.
  std::map<int, int> descriptors;
  // Run as this user and group (needs root).
  std::optional<std::pair<uid_t, gid_t>> user;
  // The kernel kills the child with SIGKILL when the thread that spawned it ends.
  bool die_with_parent = false;
};

struct ExitStatus {
  int code = 0;    // Meaningful if signal is 0.
  int signal = 0;  // That ended the process; 0 if it exited.
  bool ok() const { return code == 0 && signal == 0; }
  // "exited with status 3", "was killed by signal 9 (Killed)".
  std::string ToString() const;
};

// A running or ended child. Destruction kills its process group and reaps it.
// Signal and Wait may be called from different threads.
class Subprocess {
 public:
  // The error says which program and why (not found, not executable, ...).
  static Result<Subprocess> Spawn(const SubprocessOptions& options);

  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  pid_t pid() const { return pid_; }
  // Readable once the process has ended; for poll(2).
  int pidfd() const { return pidfd_.get(); }

  // To the whole process group; no effect once reaped.
  void Signal(int signal);

  // nullopt if it still runs after `timeout`. Once it has ended, always the same.
  std::optional<ExitStatus> Wait(Duration timeout);

  // Leaves the child to itself: destruction neither kills nor waits for it. For a child that not
  // even SIGKILL ends.
  void Abandon() { reaped_.reset(); }

  // SIGTERM to the group, SIGKILL after `grace`, and reaps.
  ExitStatus Stop(Duration grace);

 private:
  // Guards the moment of reaping: afterwards the pid may be somebody else's.
  struct Reaped {
    Mutex mutex;
    std::optional<ExitStatus> exit ASSAY_GUARDED_BY(mutex);
  };

  Subprocess() = default;
  std::optional<ExitStatus> Exit();

  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  std::unique_ptr<Reaped> reaped_;
};

// Runs to the end and returns exit status and output (stdout and stderr together,
// at most the last 64 KiB). DEADLINE_EXCEEDED kills it.
struct CommandOutput {
  ExitStatus exit;
  std::string output;
};
Result<CommandOutput> RunCommand(SubprocessOptions options, Duration timeout);

// The folder of the running program, for finding its siblings.
std::string ExecutableDirectory();

}  // namespace assay
