// Starts and controls child processes. Each child runs in its own process group, with only the file
// descriptors, environment variables and user that the caller specifies.
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

// Owns a file descriptor and closes it.
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

// A pipe. Both ends are close-on-exec.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
Result<Pipe> MakePipe();

struct SubprocessOptions {
  // argv[0] is the program: a path, or a name to find on PATH.
  std::vector<std::string> argv;
  // The whole environment of the child. If absent, the child inherits this process's.
  std::optional<std::vector<std::string>> environment;
  std::string working_directory;
  // The child's file descriptors, each mapped to the descriptor of this process that it duplicates.
  // Descriptors 0, 1 and 2 default to /dev/null. All others are closed in the child.
  std::map<int, int> descriptors;
  // The user and group of the child. Setting it needs root.
  std::optional<std::pair<uid_t, gid_t>> user;
  // The kernel kills the child with SIGKILL when the thread that spawned it ends.
  bool die_with_parent = false;
};

struct ExitStatus {
  int code = 0;    // Meaningful if signal is 0.
  int signal = 0;  // The signal that ended the process. 0 if it exited.
  bool ok() const { return code == 0 && signal == 0; }
  // Returns "exited with status 3" or "was killed by signal 9 (Killed)".
  std::string ToString() const;
};

// A child process, running or exited. The destructor kills its process group and reaps the child.
// Signal() and Wait() may be called concurrently.
class Subprocess {
 public:
  // Starts a child. The error names the program and the reason.
  static Result<Subprocess> Spawn(const SubprocessOptions& options);

  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  pid_t pid() const { return pid_; }
  // A descriptor for poll(2) that becomes readable when the process ends.
  int pidfd() const { return pidfd_.get(); }

  // Sends a signal to the whole process group. No effect after the child was reaped.
  void Signal(int signal);

  // Waits for the end of the child. Returns nothing if it still runs after `timeout`.
  std::optional<ExitStatus> Wait(Duration timeout);

  // Makes the destructor do nothing instead of killing the child and waiting for it to exit. Use
  // this for a child that does not exit even after SIGKILL.
  void Abandon() { reaped_.reset(); }

  // Sends SIGTERM to the group, SIGKILL after `grace`, and reaps the child.
  ExitStatus Stop(Duration grace);

 private:
  // Guards the reaping of the child. Afterwards its pid may belong to another process.
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

struct CommandOutput {
  ExitStatus exit;
  std::string output;
};

// Runs a program until it exits. Returns its exit status and the last 64 KiB of its combined stdout
// and stderr. If it is still running after `timeout`, kills it and returns DEADLINE_EXCEEDED.
Result<CommandOutput> RunCommand(SubprocessOptions options, Duration timeout);

// Returns the folder of the running program, which has Assay's other programs too.
std::string ExecutableDirectory();

}  // namespace assay
