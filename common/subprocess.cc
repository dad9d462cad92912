#include "common/subprocess.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/units.h"

namespace assay {
namespace {

constexpr size_t kMaxOutputBytes = 64 << 10;

Status SystemError(const std::string& what, int error) {
  return Internal(what + ": " + std::strerror(error), Reason::kSystemError);
}

// Returns the milliseconds for poll(2), rounded up. Never -1, which would wait indefinitely.
int PollTimeout(Duration timeout) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 86'400'000));
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Everything that the child needs, prepared before the fork.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const SubprocessOptions* options = nullptr;
  std::vector<std::pair<int, int>> descriptors;  // The child's and ours, sorted.
  pid_t parent = -1;
  int error_pipe = -1;  // Receives the failed step and errno if exec fails.
};

[[noreturn]] void Fail(const ChildPlan& plan, int step) {
  const std::array<int, 2> report = {step, errno};
  [[maybe_unused]] const ssize_t written = ::write(plan.error_pipe, report.data(), sizeof report);
  ::_exit(127);
}

constexpr std::array<const char*, 5> kSteps = {"set up file descriptors",
                                               "enter the working directory", "change user",
                                               "set the parent-death signal", "execute it"};
constexpr int kExecuteStep = 4;

// Gives the child's file descriptors their final numbers. First duplicates them all to numbers
// above the final ones, because dup2() could otherwise overwrite a descriptor that is still needed.
bool PlaceDescriptors(ChildPlan& plan) {
  int floor = 3;
  for (const auto& [target, source] : plan.descriptors) floor = std::max(floor, target + 1);
  plan.error_pipe = ::fcntl(plan.error_pipe, F_DUPFD_CLOEXEC, floor);
  if (plan.error_pipe < 0) return false;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return false;
  for (auto& [target, source] : plan.descriptors) {
    source = ::fcntl(source < 0 ? null : source, F_DUPFD_CLOEXEC, floor);
    if (source < 0) return false;
  }
  for (const auto& [target, source] : plan.descriptors) {
    if (::dup2(source, target) < 0) return false;
  }
  // Libraries may have opened others without close-on-exec.
  int begin = 3;
  for (const auto& [target, source] : plan.descriptors) {
    if (target < 3) continue;
    if (target > begin) ::syscall(SYS_close_range, begin, target - 1, 1U << 2);  // CLOEXEC
    begin = target + 1;
  }
  ::syscall(SYS_close_range, begin, ~0U, 1U << 2);
  return true;
}

[[noreturn]] void RunChild(ChildPlan plan) {
  ::setpgid(0, 0);
  for (int number = 1; number < 32; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!PlaceDescriptors(plan)) Fail(plan, 0);
  const SubprocessOptions& options = *plan.options;
  if (!options.working_directory.empty() && ::chdir(options.working_directory.c_str()) != 0) {
    Fail(plan, 1);
  }
  if (options.user) {
    const auto [uid, gid] = *options.user;
    if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) Fail(plan, 2);
  }
  if (options.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail(plan, 3);
    if (::getppid() != plan.parent) ::_exit(127);  // The parent died before prctl.
  }
  ::execvpe(plan.argv[0], plan.argv.data(), plan.environment.data());
  Fail(plan, kExecuteStep);
}

ExitStatus Decode(const siginfo_t& info) {
  ExitStatus status;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
  }
  return status;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe", errno);
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string ExitStatus::ToString() const {
  if (signal != 0) {
    return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "exited with status " + std::to_string(code);
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      reaped_(std::move(other.reaped_)) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    Subprocess ended(std::move(*this));  // Its destructor kills and reaps the old child.
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    reaped_ = std::move(other.reaped_);
  }
  return *this;
}

Subprocess::~Subprocess() {
  if (reaped_ == nullptr || Exit()) return;
  Signal(SIGKILL);
  Wait(std::chrono::hours(24));
}

std::optional<ExitStatus> Subprocess::Exit() {
  MutexLock lock(reaped_->mutex);
  return reaped_->exit;
}

Result<Subprocess> Subprocess::Spawn(const SubprocessOptions& options) {
  if (options.argv.empty()) return InvalidArgument("no program to run");
  ASSAY_ASSIGN_OR_RETURN(Pipe errors, MakePipe());
  ChildPlan plan;
  plan.argv = Pointers(options.argv);
  if (options.environment) {
    plan.environment = Pointers(*options.environment);
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.push_back(*entry);
    plan.environment.push_back(nullptr);
  }
  plan.options = &options;
  std::map<int, int> descriptors = options.descriptors;
  for (int standard : {0, 1, 2}) descriptors.emplace(standard, -1);
  plan.descriptors.assign(descriptors.begin(), descriptors.end());
  plan.parent = ::getpid();
  plan.error_pipe = errors.write.get();

  // Signals stay blocked in the child until its handlers are the default ones.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // Unlike fork(), _Fork() does not run the handlers registered by libraries. OpenBLAS registers
  // one that waits for its threads to exit, which they may never do if memory is low.
  const pid_t pid = ::_Fork();
  if (pid == 0) RunChild(std::move(plan));
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return SystemError("cannot start " + options.argv[0], fork_error);
  ::setpgid(pid, pid);  // The child calls this too. Either may come first.

  Subprocess process;
  process.pid_ = pid;
  process.reaped_ = std::make_unique<Reaped>();
  process.pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  errors.write.Close();
  std::array<int, 2> report{};
  ssize_t size = 0;
  do {
    size = ::read(errors.read.get(), report.data(), sizeof report);
  } while (size < 0 && errno == EINTR);
  if (size == static_cast<ssize_t>(sizeof report)) {
    const auto [step, error] = report;
    if (step == kExecuteStep && (error == ENOENT || error == EACCES)) {
      return NotFound("cannot run " + options.argv[0] + ": " + std::strerror(error),
                      Reason::kProgramNotFound);
    }
    return SystemError(
        "cannot start " + options.argv[0] + ": could not " + kSteps.at(static_cast<size_t>(step)),
        error);
  }
  if (!process.pidfd_.valid()) return SystemError("cannot watch " + options.argv[0], errno);
  return process;
}

void Subprocess::Signal(int signal) {
  MutexLock lock(reaped_->mutex);
  if (!reaped_->exit) ::kill(-pid_, signal);
}

std::optional<ExitStatus> Subprocess::Wait(Duration timeout) {
  if (const auto exit = Exit()) return exit;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    pollfd watched{pidfd_.get(), POLLIN, 0};
    const int ready = ::poll(&watched, 1, PollTimeout(deadline - std::chrono::steady_clock::now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return std::nullopt;
    break;
  }
  MutexLock lock(reaped_->mutex);
  if (reaped_->exit) return reaped_->exit;  // Another thread was here first.
  // Kill the rest of the process group, so that grandchildren do not outlive the child. This is
  // safe because the child has not been reaped yet, so no other group can have its id.
  ::kill(-pid_, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0) {
    if (errno != EINTR) break;
  }
  reaped_->exit = Decode(info);
  return reaped_->exit;
}

ExitStatus Subprocess::Stop(Duration grace) {
  Signal(SIGTERM);
  if (const auto status = Wait(grace)) return *status;
  Signal(SIGKILL);
  return Wait(std::chrono::hours(24)).value_or(ExitStatus{});
}

Result<CommandOutput> RunCommand(SubprocessOptions options, Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  ASSAY_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  options.descriptors[1] = pipe.write.get();
  options.descriptors[2] = pipe.write.get();
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  pipe.write.Close();
  CommandOutput result;
  std::array<char, 4096> chunk{};
  for (;;) {
    pollfd watched{pipe.read.get(), POLLIN, 0};
    const int ready = ::poll(&watched, 1, PollTimeout(deadline - std::chrono::steady_clock::now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t size = ::read(pipe.read.get(), chunk.data(), chunk.size());
    if (size <= 0) break;
    result.output.append(chunk.data(), static_cast<size_t>(size));
    if (result.output.size() > kMaxOutputBytes) {
      result.output.erase(0, result.output.size() - kMaxOutputBytes);
    }
  }
  const auto status = process.Wait(deadline - std::chrono::steady_clock::now());
  if (!status) {
    process.Stop(Duration(0));
    return Status(Code::kDeadlineExceeded, Reason::kCommandTimeout,
                  options.argv[0] + " did not end within " + FormatDuration(timeout));
  }
  result.exit = *status;
  return result;
}

std::string ExecutableDirectory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : path.parent_path().string();
}

}  // namespace assay
