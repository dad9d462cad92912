#include "agent/join/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include "common/file.h"
#include "common/ready_line.h"
#include "common/subprocess.h"
#include "common/text.h"

namespace assay::agent {
namespace {

constexpr off_t kMaxLogBytes = off_t{8} << 20;
// The descriptor to which the agent writes its report; 0 to 2 are its standard streams.
constexpr int kReportDescriptor = 3;
// An agent ends within 10 s of SIGTERM.
constexpr Duration kStopPatience = std::chrono::seconds(12);
constexpr Duration kLeastDelay = std::chrono::seconds(1);
constexpr Duration kMostDelay = std::chrono::minutes(1);
// After a run of at least this length, the delay before the next start is kLeastDelay again.
constexpr Duration kLongRun = std::chrono::minutes(2);

std::string PidFile(const std::string& data) { return data + "/agent.pid"; }

Status FileProblem(const std::string& path) {
  return FailedPrecondition("cannot use " + path + ": " + std::strerror(errno),
                            Reason::kDataFolder);
}

int Milliseconds(Duration duration) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

// A log file of at most 8 MiB. When full, it is renamed to FILE.1, replacing any previous FILE.1.
class LogFile {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) { Open(); }

  void Write(std::string_view text) {
    struct stat facts {};
    if (::fstat(file_.get(), &facts) == 0 && facts.st_size > kMaxLogBytes) {
      ::rename(path_.c_str(), (path_ + ".1").c_str());
      Open();
    }
    while (!text.empty()) {
      const ssize_t wrote = ::write(file_.get(), text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return;  // The disk is full: the agent matters more than its log.
      text.remove_prefix(static_cast<size_t>(wrote));
    }
  }

  void Say(const std::string& text) {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    Write(std::string(time) + " supervisor: " + text + "\n");
  }

 private:
  void Open() {
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }

  const std::string path_;
  FileDescriptor file_;
};

// The process that runs the agent.
class BackgroundProcess {
 public:
  BackgroundProcess(const BackgroundOptions& options, FileDescriptor report)
      : options_(options), report_(std::move(report)), log_(BackgroundLog(options.data)) {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, signal);
    ::sigprocmask(SIG_BLOCK, &ending, nullptr);
    signals_ = FileDescriptor(::signalfd(-1, &ending, SFD_CLOEXEC));
  }

  // Runs the agent and starts it again whenever it ends. Returns when it must not be started again.
  void Run() {
    Duration delay = kLeastDelay;
    bool first = true;
    while (true) {
      const MonotonicTime start = Clock::Real().Now();
      const std::optional<ExitStatus> exit = RunOnce(first);
      if (!exit) return log_.Say("stopped");
      const bool final = exit->signal == 0 && (exit->code == 0 || exit->code == 2);
      if (final || (first && !reported_)) {
        return log_.Say("the agent " + exit->ToString() + "; it is not started again");
      }
      first = false;
      const Duration lived = Clock::Real().Now() - start;
      delay = lived >= kLongRun ? kLeastDelay : std::min(2 * delay, kMostDelay);
      log_.Say("the agent " + exit->ToString() + "; it is started again in " +
               std::to_string(Milliseconds(delay) / 1000) + " s");
      if (AwaitSignal(delay)) return log_.Say("stopped");
    }
  }

  // Reports to the waiting process, which started this one, why the agent was never attached.
  void ReportFailure() {
    if (!failure_.ok()) static_cast<void>(TellFailed(report_.Release(), failure_));
    report_.Close();
  }

 private:
  // Runs the agent once. Returns its exit status, or nullopt if a signal told this process to end.
  std::optional<ExitStatus> RunOnce(bool first) {
    Result<Pipe> output = MakePipe();
    Result<Pipe> report = MakePipe();
    if (!output.ok() || !report.ok()) return ExitStatus{1, 0};
    SubprocessOptions child;
    child.argv = options_.argv;
    child.descriptors = {{1, output->write.get()}, {2, output->write.get()}};
    child.die_with_parent = true;
    if (first) {
      child.argv.push_back(options_.report_option + "=" + std::to_string(kReportDescriptor));
      child.descriptors[kReportDescriptor] = report->write.get();
    }
    Result<Subprocess> agent = Subprocess::Spawn(child);
    output->write.Close();
    report->write.Close();
    if (!agent.ok()) {
      log_.Say(agent.status().message());
      failure_ = agent.status();
      return ExitStatus{1, 0};
    }
    log_.Say("started the agent, process " + std::to_string(agent->pid()));
    return Attend(*agent, output->read, first ? std::move(report->read) : FileDescriptor());
  }

  // Copies the agent's output to the log until it ends or a signal arrives.
  std::optional<ExitStatus> Attend(Subprocess& agent, const FileDescriptor& output,
                                   FileDescriptor report) {
    ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
    int output_fd = output.get();
    while (true) {
      pollfd wanted[] = {{signals_.get(), POLLIN, 0},
                         {agent.pidfd(), POLLIN, 0},
                         {output_fd, POLLIN, 0},
                         {report.get(), POLLIN, 0}};  // poll ignores -1.
      if (::poll(wanted, 4, -1) < 0 && errno != EINTR) return ExitStatus{1, 0};
      if (wanted[2].revents != 0 && !CopyOutput(output.get())) output_fd = -1;
      if (wanted[3].revents != 0) {
        PassOn(report);
        report.Close();
      }
      if (wanted[0].revents != 0) {
        agent.Stop(kStopPatience);
        CopyOutput(output.get());
        return std::nullopt;
      }
      if (wanted[1].revents != 0) {
        CopyOutput(output.get());
        if (report.valid()) PassOn(report);
        return agent.Wait(kStopPatience).value_or(ExitStatus{1, 0});
      }
    }
  }

  // Returns false at the end of the output.
  bool CopyOutput(int output) {
    char bytes[16 << 10];
    ssize_t got = 0;
    while ((got = ::read(output, bytes, sizeof bytes)) > 0) {
      log_.Write({bytes, static_cast<size_t>(got)});
    }
    return got < 0;
  }

  // Tells the process that started this background process that the agent has connected. Reports
  // success only; ReportFailure reports failures later, once the agent has exited and the data
  // folder can be used again.
  void PassOn(const FileDescriptor& report) {
    char bytes[4096];
    const ssize_t got = ::read(report.get(), bytes, sizeof bytes);
    if (got <= 0) return;
    const std::string line(bytes, static_cast<size_t>(got));
    failure_ = ParseReadyLine(line).status();
    reported_ = failure_.ok();
    if (reported_) static_cast<void>(TellReady(report_.Release(), line));
  }

  bool AwaitSignal(Duration timeout) const {
    pollfd wanted{signals_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, Milliseconds(timeout)) > 0;
  }

  const BackgroundOptions& options_;
  FileDescriptor report_;  // To the process that waits; closed after the first line.
  LogFile log_;
  FileDescriptor signals_;
  bool reported_ = false;  // The agent was attached once.
  Status failure_;         // Why it was not.
};

// Opens the pid file, which the background process locks while it runs.
Result<FileDescriptor> OpenPidFile(const std::string& data, int flags) {
  FileDescriptor file(::open(PidFile(data).c_str(), flags | O_CLOEXEC, 0600));
  if (!file.valid()) return FileProblem(PidFile(data));
  return file;
}

bool TryLock(const FileDescriptor& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

[[noreturn]] void RunDetached(const BackgroundOptions& options, FileDescriptor pid_file,
                              FileDescriptor report) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int standard = 0; standard <= 2; ++standard) ::dup2(null.get(), standard);
  if (::chdir("/") != 0 || ::ftruncate(pid_file.get(), 0) != 0 ||
      ::pwrite(pid_file.get(), pid.data(), pid.size(), 0) < 0) {
    ::_exit(1);
  }
  ::signal(SIGPIPE, SIG_IGN);
  BackgroundProcess process(options, std::move(report));
  process.Run();
  ::unlink(PidFile(options.data).c_str());
  pid_file.Close();
  process.ReportFailure();
  ::_exit(0);
}

Status AwaitReport(const FileDescriptor& report, const std::string& data, Duration patience) {
  pollfd wanted{report.get(), POLLIN, 0};
  const MonotonicTime deadline = Clock::Real().Now() + patience;
  int ready = 0;
  do {
    ready = ::poll(&wanted, 1, Milliseconds(deadline - Clock::Real().Now()));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    return Status(Code::kDeadlineExceeded, Reason::kNotReady,
                  "the agent is not attached yet; it keeps trying")
        .WithHint("its log says why: " + BackgroundLog(data));
  }
  char bytes[4096];
  const ssize_t got = ::read(report.get(), bytes, sizeof bytes);
  if (got <= 0) {
    return Internal("the agent ended before it was attached", Reason::kChildFailed)
        .WithHint("its log says why: " + BackgroundLog(data));
  }
  return ParseReadyLine(std::string(bytes, static_cast<size_t>(got))).status();
}

}  // namespace

std::string BackgroundLog(const std::string& data) { return data + "/agent.log"; }

Status StartInBackground(const BackgroundOptions& options, Duration patience) {
  if (const Status made = MakePrivateFolder(options.data); !made.ok()) {
    return FailedPrecondition(made.message(), Reason::kDataFolder);
  }
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor pid_file, OpenPidFile(options.data, O_RDWR | O_CREAT));
  if (!TryLock(pid_file)) {
    return FailedPrecondition("the agent of " + options.data + " runs already, as process " +
                                  FirstLineOf(PidFile(options.data)),
                              Reason::kAlreadyRunning)
        .WithHint("to end it: " + options.argv.front() + " stop --data " + options.data);
  }
  ASSAY_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  const pid_t child = ::fork();
  if (child < 0) return Internal("cannot start a process: " + std::string(std::strerror(errno)));
  if (child == 0) {
    report.read.Close();
    // Fork again, so that the new process is a child of PID 1 and not a session leader. It can then
    // never acquire a controlling terminal.
    if (::setsid() < 0 || ::fork() != 0) ::_exit(0);
    RunDetached(options, std::move(pid_file), std::move(report.write));
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  report.write.Close();
  pid_file.Close();
  return AwaitReport(report.read, options.data, patience);
}

Status StopBackground(const std::string& data) {
  const Status none = NotFound("no agent runs in the background on " + data)
                          .WithHint(
                              "one in the foreground ends with Ctrl-C; of another, name the data "
                              "folder with --data");
  const Result<FileDescriptor> file = OpenPidFile(data, O_RDWR);
  if (!file.ok() || TryLock(*file)) return none;
  const std::string text = FirstLineOf(PidFile(data));
  pid_t pid = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (parsed.ec != std::errc() || pid <= 1) return none;
  if (::kill(pid, SIGTERM) != 0) {
    return FailedPrecondition("cannot stop process " + text + ": " + std::strerror(errno));
  }
  const MonotonicTime deadline = Clock::Real().Now() + kStopPatience + std::chrono::seconds(3);
  while (!TryLock(*file)) {
    if (Clock::Real().Now() > deadline) {
      return Internal("process " + text + " has not ended", Reason::kNotReady);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Status::Ok();
}

}  // namespace assay::agent
