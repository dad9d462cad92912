// One of our own servers as a child: started, awaited until it serves, stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/subprocess.h"

namespace assay::cli {

// Where a server serves once it is ready.
struct Addresses {
  std::string grpc;
  std::string http;
};

struct ChildOptions {
  // "assay-agent"; found beside this program.
  std::string program;
  std::vector<std::string> arguments;
  // NAME=VALUE, added to our environment.
  std::vector<std::string> environment;
  // Takes stdout and stderr, appended.
  std::string log_path;
};

// The reason of the error when a signal ended the waiting.
inline constexpr char kInterrupted[] = "INTERRUPTED";

// A running server. Movable; destruction kills it.
class ChildProgram {
 public:
  // Starts it with --ready-fd and waits until it serves. `signals` is a signalfd
  // whose readiness ends the waiting (reason kInterrupted). If the child ends
  // first the error has the end of its log; it is INVALID_ARGUMENT if the child
  // refused what it was given.
  static Result<ChildProgram> Start(const ChildOptions& options, int signals);

  const std::string& name() const { return name_; }
  const Addresses& addresses() const { return addresses_; }
  int pidfd() const { return process_->pidfd(); }

  // How it ended and the end of its log; for a child that has ended.
  std::string DescribeEnd();

  // SIGTERM, then SIGKILL after a grace.
  void Stop();

 private:
  ChildProgram() = default;
  Status AwaitReady(int ready_fd, int signals);

  std::string name_;
  std::string log_path_;
  int64_t log_begin_ = 0;  // What is before is an earlier process's.
  Addresses addresses_;
  std::optional<Subprocess> process_;
};

// The last lines of a file from `begin` on, each indented; empty if it cannot be read.
std::string LogTail(const std::string& path, int64_t begin = 0);

}  // namespace assay::cli
