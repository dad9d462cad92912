// Runs one of Assay's servers as a child process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ready_line.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay::cli {

struct ChildOptions {
  std::string program;  // "assay-agent"; in the folder of this program.
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE, added to ours.
  std::string log_path;                  // Stdout and stderr are appended here.
};

// Returns this process's environment with variables, each NAME=VALUE, added or replaced.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added);

// A running server. Destruction kills it.
class ChildProgram {
 public:
  // Starts the server and blocks until it is ready. Returns an error early if `signals` (a
  // signalfd) becomes readable. If the server fails to start, returns the error that it reported,
  // with its code, reason and hint. If it did not report an error, the hint is the end of its log.
  static Result<ChildProgram> Start(const ChildOptions& options, int signals);

  const ServedAddresses& addresses() const { return addresses_; }
  // Becomes readable when the process has ended; for poll(2).
  int pidfd() const { return process_->pidfd(); }

  // Says how the process ended and quotes the end of its log. Call this only after it has ended.
  std::string DescribeEnd();

  // Sends SIGTERM, then SIGKILL after 15 s.
  void Stop();

 private:
  ChildProgram() = default;
  Status AwaitReady(int ready_fd, int signals);

  std::string name_;
  std::string log_path_;
  size_t log_begin_ = 0;  // Size of the log when this process started.
  ServedAddresses addresses_;
  std::optional<Subprocess> process_;
};

}  // namespace assay::cli
