#include "cli/up/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/up/private_postgres.h"

namespace assay::cli {
namespace {

constexpr Duration kReadyTimeout = std::chrono::seconds(60);
constexpr Duration kStopGrace = std::chrono::seconds(15);
constexpr int kReadyFd = 3;
constexpr size_t kMaxReadyBytes = 4096;
// The exit status with which Assay's servers refuse their arguments.
constexpr int kUsageError = 2;

}  // namespace

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  for (const std::string& variable : added) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(environment, [&](const std::string& old) { return old.starts_with(name); });
    environment.push_back(variable);
  }
  return environment;
}

Result<ChildProgram> ChildProgram::Start(const ChildOptions& options, int signals) {
  ChildProgram child;
  child.name_ = options.program;
  child.log_path_ = options.log_path;
  const FileDescriptor log(
      open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) {
    return FailedPrecondition("cannot write " + options.log_path + ": " + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(log.get(), &info) == 0) child.log_begin_ = static_cast<size_t>(info.st_size);
  ASSAY_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  SubprocessOptions spawn;
  spawn.argv = {ExecutableDirectory() + "/" + options.program};
  spawn.argv.insert(spawn.argv.end(), options.arguments.begin(), options.arguments.end());
  spawn.argv.insert(spawn.argv.end(), {"--ready-fd", std::to_string(kReadyFd)});
  spawn.environment = EnvironmentWith(options.environment);
  spawn.descriptors = {{1, log.get()}, {2, log.get()}, {kReadyFd, ready.write.get()}};
  spawn.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(child.process_, Subprocess::Spawn(spawn));
  ready.write.Close();
  ASSAY_RETURN_IF_ERROR(child.AwaitReady(ready.read.get(), signals));
  return child;
}

Status ChildProgram::AwaitReady(int ready_fd, int signals) {
  const MonotonicTime deadline = Clock::Real().Now() + kReadyTimeout;
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < kMaxReadyBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::Real().Now());
    if (left.count() <= 0) {
      return Unavailable(name_ + " did not become ready within 60 s", Reason::kNotReady)
          .WithHint("the end of " + log_path_ + ":\n" + LogTail(log_path_, log_begin_));
    }
    std::array<pollfd, 2> polled = {{{ready_fd, POLLIN, 0}, {signals, POLLIN, 0}}};
    if (poll(polled.data(), polled.size(), static_cast<int>(left.count())) <= 0) continue;
    if (polled[1].revents != 0)
      return Status(Code::kCancelled, Reason::kInterrupted, "interrupted");
    std::array<char, 512> chunk{};
    const ssize_t got = read(ready_fd, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      const std::optional<ExitStatus> exit = process_->Wait(kStopGrace);
      const bool usage = exit && exit->signal == 0 && exit->code == kUsageError;
      return Status(usage ? Code::kInvalidArgument : Code::kFailedPrecondition,
                    Reason::kChildFailed, name_ + " could not start")
          .WithHint(DescribeEnd());
    }
    line.append(chunk.data(), static_cast<size_t>(got));
  }
  Result<ServedAddresses> addresses = ParseReadyLine(line);
  if (!addresses.ok()) return addresses.status().WithContext(name_ + " could not start");
  addresses_ = *std::move(addresses);
  return Status::Ok();
}

std::string ChildProgram::DescribeEnd() {
  const std::optional<ExitStatus> exit = process_->Wait(kStopGrace);
  return name_ + " " + (exit ? exit->ToString() : "closed its readiness pipe but still runs") +
         "; the end of " + log_path_ + ":\n" + LogTail(log_path_, log_begin_);
}

void ChildProgram::Stop() {
  if (process_) process_->Stop(kStopGrace);
}

}  // namespace assay::cli
