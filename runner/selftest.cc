#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "assay/v1/runner.pb.h"
#include "common/framing.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "host/gpu_platform.h"
#include "runner/arguments.h"
#include "runner/case_result.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "runner/local_case.h"
#include "runner/node_fault.h"
#include "wire/result_fields.h"

namespace assay {
namespace {

// The time that a process may take to end after SIGKILL, or after it has closed its event pipe.
constexpr Duration kEndTimeout = std::chrono::seconds(5);

volatile sig_atomic_t stop_signal = 0;  // The last SIGINT or SIGTERM; 0 before the first.
int stop_write_fd = -1;

// Writes a byte to the pipe. The byte is never read, so the other end of the pipe stays readable.
void HandleStop(int number) {
  const int error = errno;
  stop_signal = number;
  [[maybe_unused]] const ssize_t written = write(stop_write_fd, "!", 1);
  errno = error;
}

// Makes the first SIGINT or SIGTERM write to a pipe instead of ending the process. Returns the read
// end of the pipe. A second signal ends the process. Signals that were already ignored, as in some
// background jobs, stay ignored.
FileDescriptor CatchStopSignals() {
  Result<Pipe> pipe = MakePipe();
  if (!pipe.ok()) return {};  // The signals keep ending the process.
  stop_write_fd = pipe->write.Release();
  stop_signal = 0;
  // signalfd(2) needs the signals blocked in every thread, but libraries have started some by now.
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = HandleStop;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
  return std::move(pipe->read);
}

std::string SignalName(int number) { return number == SIGINT ? "SIGINT" : "SIGTERM"; }

void Print(std::FILE* stream, const std::string& line) {
  std::fprintf(stream, "%s\n", line.c_str());
  std::fflush(stream);
}

void PrintError(const std::string& line) { Print(stderr, "assay-runner: " + line); }

int Milliseconds(Duration time) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

std::string Seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

// Returns a text such as "GPU 3", "GPUs 0 to 7" or "GPUs 0, 2".
std::string GpusText(const std::set<int>& gpus) {
  const int first = *gpus.begin();
  const int last = *gpus.rbegin();
  if (gpus.size() == 1) return "GPU " + std::to_string(first);
  if (gpus.size() > 2 && last - first + 1 == static_cast<int>(gpus.size())) {
    return "GPUs " + std::to_string(first) + " to " + std::to_string(last);
  }
  std::vector<std::string> numbers;
  for (const int gpu : gpus) numbers.push_back(std::to_string(gpu));
  return "GPUs " + Join(numbers);
}

std::string WhyNoGpus() {
  return Gpu() == nullptr ? "this build has no CUDA" : Gpu()->TroubleOf(0).evidence;
}

// The GPUs of this machine as the driver lists them, compared with those that the user requires.
struct GpusHere {
  std::set<int> gpus;
  RequiredGpus required;
};

// Lists the GPUs and checks that those required by the user exist. GPUs that exist but cannot be
// used are not considered missing: their tests run and report the failure.
GpusHere FindGpus(const std::optional<int>& wanted, bool require_gpu) {
  GpusHere here;
  const std::vector<LocalGpu> offered = Gpu() == nullptr ? std::vector<LocalGpu>() : Gpu()->Gpus();
  for (const LocalGpu& gpu : offered) here.gpus.insert(gpu.ordinal);
  if ((!wanted && !require_gpu) || !CheckGpusUsable(Gpu()).ok()) return here;
  if (offered.empty()) {
    here.required.missing = "there is no GPU to verify: " + WhyNoGpus();
  } else if (!wanted) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    here.required = CheckRequiredGpus(offered, ReadMachineGpus(),
                                      visible == nullptr ? std::nullopt : std::optional(visible));
  } else if (here.gpus.count(*wanted) == 0) {
    here.required.missing = "there is no GPU " + std::to_string(*wanted) +
                            " to verify: this machine has " + GpusText(here.gpus);
  }
  return here;
}

// Runs FindGpus() on a separate thread, because the GPU driver may block. Returns nullopt and
// abandons the thread if a signal arrives or the time limit expires before the driver has
// responded.
std::optional<GpusHere> FindGpusInTime(const Selection& selection, const FileDescriptor& stop,
                                       const SelftestTimes& times) {
  Result<Pipe> done = MakePipe();
  if (!done.ok()) return FindGpus(selection.gpu, selection.require_gpu);
  std::promise<GpusHere> promise;
  std::future<GpusHere> found = promise.get_future();
  std::thread([promise = std::move(promise), gpu = selection.gpu,
               require_gpu = selection.require_gpu, end = std::move(done->write)]() mutable {
    promise.set_value(FindGpus(gpu, require_gpu));
    end.Close();
  }).detach();
  const MonotonicTime deadline = Clock::Real().Now() + times.listing_patience;
  while (Clock::Real().Now() < deadline) {
    pollfd polled[] = {{done->read.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
    const Duration left = deadline - Clock::Real().Now();
    const int ready = poll(polled, 2, Milliseconds(std::min(times.patience, left)));
    if (polled[1].revents != 0) return std::nullopt;
    if (polled[0].revents != 0) return found.get();
    if (ready == 0) PrintError("the driver has not listed its GPUs yet");
  }
  return std::nullopt;
}

// Runs the tests in order. Writes each outcome to `events_fd`.
void RunTests(const std::vector<Selftest>& tests, int events_fd) {
  for (size_t i = 0; i < tests.size(); ++i) {
    ExecuteOptions execute;
    execute.measure = false;
    Result<ExecutedCase> executed = RunHere(tests[i].what, execute);
    if (!executed.ok()) {
      executed = CaseNotBegun(tests[i].Info(), tests[i].what.parameters, executed.status());
    }
    v1::RunnerEvent event;
    event.mutable_case_result()->Swap(&executed->result);
    event.mutable_case_result()->set_case_index(static_cast<int>(i));
    if (!WriteFrame(events_fd, event.SerializeAsString()).ok()) return;
  }
}

// A sequence of tests that run one after another, either in a child process for one GPU or on a
// thread of this process.
struct Worker {
  std::vector<Selftest> tests;
  FileDescriptor events = {};
  std::optional<int> gpu = {};  // The GPU of the process; absent for a thread.
  std::optional<Subprocess> process = {};
  FrameDecoder decoder = {};
  size_t next = 0;  // Index of the running test.
  MonotonicTime since = Clock::Real().Now();

  bool Done() const { return next == tests.size(); }
  const Selftest& Test() const { return tests[next]; }
};

// A run of the selected tests, which prints and counts their outcomes.
class SelftestRun {
 public:
  SelftestRun(const Selection& selection, const std::vector<std::string>& arguments, GpusHere here,
              const FileDescriptor& stop, Duration patience)
      : selection_(selection),
        arguments_(arguments),
        gpus_(std::move(here.gpus)),
        notes_(std::move(here.required.notes)),
        stop_(stop),
        patience_(patience) {}

  int Run() {
    if (gpus_.size() > 1 && !selection_.gpu) {
      const std::vector<Selftest> tests = selection_.OnEachGpu(true);
      for (const int gpu : gpus_) StartProcess(gpu, tests);
      Relay();
      StartThread(selection_.OnEachGpu(false));
    } else {
      StartThread(selection_.tests);
    }
    Relay();
    for (const Worker& worker : workers_) PrintInterrupted(worker);
    Print(stdout, Summary());
    EndProcesses();
    return ExitCode();
  }

 private:
  // Starts a child process for the tests of one GPU, so that a broken CUDA context or a hung test
  // does not affect other GPUs.
  void StartProcess(int gpu, const std::vector<Selftest>& tests) {
    if (tests.empty()) return;
    Worker& worker = workers_.emplace_back(Worker{tests});
    worker.gpu = gpu;
    auto pipe = MakePipe();
    Status started = pipe.status();
    if (pipe.ok()) {
      SubprocessOptions options;
      options.argv = {"/proc/self/exe", "selftest-gpu", std::to_string(gpu)};
      options.argv.insert(options.argv.end(), arguments_.begin(), arguments_.end());
      // Stdout is only for results, so the output of libraries goes to stderr.
      options.descriptors = {{STDOUT_FILENO, STDERR_FILENO},
                             {STDERR_FILENO, STDERR_FILENO},
                             {kEventsFd, pipe->write.get()}};
      options.die_with_parent = true;
      auto process = Subprocess::Spawn(options);
      started = process.status();
      if (process.ok()) worker.process = *std::move(process);
      worker.events = std::move(pipe->read);
    }
    if (!started.ok()) FailRest(&worker, started.message());
  }

  void StartThread(std::vector<Selftest> tests) {
    Worker& worker = workers_.emplace_back(Worker{std::move(tests)});
    if (stopped_by_ != 0) return;
    auto pipe = MakePipe();
    if (!pipe.ok()) return FailRest(&worker, pipe.status().message());
    worker.events = std::move(pipe->read);
    // Give the thread its own copy of the tests, because it keeps running if a signal ends the
    // self-test.
    std::thread([tests = worker.tests, events = std::move(pipe->write)] {
      RunTests(tests, events.get());
    }).detach();
  }

  // Prints test outcomes until all workers (threads or child processes that run tests) are done.
  // After a signal, prints only the outcomes that have already arrived.
  void Relay() {
    for (;;) {
      std::vector<pollfd> polled = {{stopped_by_ == 0 ? stop_.get() : -1, POLLIN, 0}};
      for (const Worker& worker : workers_) polled.push_back({worker.events.get(), POLLIN, 0});
      const bool open = std::any_of(workers_.begin(), workers_.end(),
                                    [](const Worker& one) { return one.events.valid(); });
      if (!open) return;
      const int ready =
          poll(polled.data(), polled.size(), stopped_by_ == 0 ? Milliseconds(patience_) : 0);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0 && stopped_by_ != 0) return;
      if (ready == 0) PrintRunning();
      for (size_t i = 0; i < workers_.size(); ++i) {
        if (polled[i + 1].revents != 0) ReadEvents(&workers_[i]);
      }
      if (polled[0].revents != 0) stopped_by_ = stop_signal;
    }
  }

  void ReadEvents(Worker* worker) {
    std::array<char, 65536> chunk;
    const ssize_t size = read(worker->events.get(), chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) return;
    if (size <= 0) return EndOf(worker);
    worker->decoder.Append({chunk.data(), static_cast<size_t>(size)});
    for (;;) {
      const auto frame = worker->decoder.Next();
      v1::RunnerEvent event;
      if (!frame.ok()) return EndOf(worker);
      if (!frame->has_value()) return;
      if (!event.ParseFromString(**frame) || worker->Done()) return EndOf(worker);
      Finish(worker, event.case_result());
    }
  }

  // Handles the end of a worker (a thread or child process that runs tests). Reports tests that a
  // child process left unfinished as failed. If SIGINT or SIGTERM killed the child process, ends
  // the whole self-test instead, because the signal was probably sent to all processes.
  void EndOf(Worker* worker) {
    worker->events.Close();
    if (!worker->process) return;
    const auto exit = worker->process->Wait(kEndTimeout);
    if (exit && (exit->signal == SIGINT || exit->signal == SIGTERM)) stopped_by_ = exit->signal;
    if (stopped_by_ != 0) return;
    FailRest(worker, "its process " + (exit ? exit->ToString() : "does not end"));
  }

  // Reports all tests that the worker has not finished as failed.
  void FailRest(Worker* worker, const std::string& why) {
    v1::CaseResult result;
    result.set_outcome(v1::CASE_OUTCOME_FAILED);
    result.mutable_failure()->set_message(why);
    while (!worker->Done()) Finish(worker, result);
  }

  // Kills the child processes that are still running, and waits for them up to a time limit,
  // because a process that is blocked in the GPU driver may never exit.
  void EndProcesses() {
    for (Worker& worker : workers_) {
      if (worker.process) worker.process->Signal(SIGKILL);
    }
    const MonotonicTime deadline = Clock::Real().Now() + kEndTimeout;
    for (Worker& worker : workers_) {
      if (!worker.process || worker.process->Wait(deadline - Clock::Real().Now())) continue;
      PrintError("process " + std::to_string(worker.process->pid()) + " of GPU " +
                 std::to_string(*worker.gpu) + " does not end");
      worker.process->Abandon();
    }
  }

  // Returns the name of the worker's running test, padded to a column.
  static std::string Head(const Worker& worker) {
    constexpr size_t kWidth = 24;
    std::string text = worker.Test().Name();
    text.resize(std::max(text.size(), kWidth), ' ');
    return text + " ";
  }

  // Returns text such as " on GPU 3", which says where the worker's current test runs, or an empty
  // string if there is no point in naming the GPUs, for example because there is only one.
  std::string Where(const Worker& worker) const {
    const Selftest& test = worker.Test();
    if (gpus_.size() < 2 || !test.OnGpu() || test.Contradicts()) return "";
    std::set<int> on;
    const int first = worker.gpu.value_or(test.what.gpu.value_or(0));
    for (int rank = 0; rank < WorldSizeOf(test.what); ++rank) on.insert(first + rank);
    const bool all_here = std::includes(gpus_.begin(), gpus_.end(), on.begin(), on.end());
    return all_here ? " on " + GpusText(on) : "";
  }

  // Returns a text such as "still running on GPU 3 after 60 s".
  std::string StillRunning(const Worker& worker) const {
    return "still running" + Where(worker) + " after " +
           Seconds(Clock::Real().Now() - worker.since);
  }

  void PrintRunning() {
    for (const Worker& worker : workers_) {
      if (!worker.events.valid() || worker.Done()) continue;
      PrintError(worker.Test().Name() + " " + StillRunning(worker));
    }
  }

  // Prints and counts the outcome of the worker's running test, and moves on to its next test.
  void Finish(Worker* worker, const v1::CaseResult& result) {
    const Selftest& test = worker->Test();
    const std::string& why = result.failure().message();
    Print(stdout, Head(*worker) + schema::OutcomeName(result.outcome()) + Where(*worker) +
                      (why.empty() ? "" : ": " + why));
    if (result.outcome() == v1::CASE_OUTCOME_OK) {
      ++ok_;
    } else if (result.outcome() == v1::CASE_OUTCOME_UNSUPPORTED) {
      ++unsupported_;
      lacks_named_ = lacks_named_ || (selection_.named && !test.variant);
    } else {
      ++failed_;
      if (result.failure().failure_class() == v1::FAILURE_CLASS_USER) {
        ++contradictions_;
      } else if (worker->gpu) {
        failed_gpus_.insert(*worker->gpu);
      }
    }
    ++worker->next;
    worker->since = Clock::Real().Now();
  }

  // Prints and counts the worker's tests that a signal interrupted.
  void PrintInterrupted(const Worker& worker) {
    if (worker.Done()) return;
    if (!worker.process && !worker.events.valid()) {  // The worker was never started.
      not_started_ += worker.tests.size();
      return;
    }
    Print(stdout, Head(worker) + StillRunning(worker));
    ++running_;
    not_started_ += worker.tests.size() - worker.next - 1;
  }

  std::string Summary() const {
    std::string text = std::to_string(ok_) + " ok, " + std::to_string(unsupported_) +
                       " unsupported, " + std::to_string(failed_) + " failed" + OnGpus();
    if (stopped_by_ != 0) {
      text += "; interrupted by " + SignalName(stopped_by_) + ": " + std::to_string(running_) +
              " still running, " + std::to_string(not_started_) + " not started";
    }
    for (const std::string& note : notes_) text += "; " + note;
    return text;
  }

  // Returns a text such as " on GPUs 0 to 7; failed on GPU 3".
  std::string OnGpus() const {
    const auto& tests = selection_.tests;
    const bool on_gpu = std::any_of(tests.begin(), tests.end(), std::mem_fn(&Selftest::OnGpu));
    if (selection_.named && !on_gpu) return "";
    if (gpus_.empty()) return "; no GPU was verified: " + WhyNoGpus();
    return " on " + GpusText(selection_.gpu ? std::set<int>{*selection_.gpu} : gpus_) +
           (failed_gpus_.empty() ? "" : "; failed on " + GpusText(failed_gpus_));
  }

  int ExitCode() const {
    if (stopped_by_ != 0) return kExitSignal + stopped_by_;
    if (failed_ > contradictions_) return kExitFailed;
    if (contradictions_ > 0) return kExitUsage;
    return lacks_named_ ? kExitUnsupported : kExitDone;
  }

  const Selection& selection_;
  const std::vector<std::string>& arguments_;
  const std::set<int> gpus_;
  const std::vector<std::string> notes_;
  const FileDescriptor& stop_;
  const Duration patience_;
  std::vector<Worker> workers_;
  int ok_ = 0;
  int unsupported_ = 0;
  int failed_ = 0;
  int contradictions_ = 0;  // Failures by parameters that contradict each other.
  bool lacks_named_ = false;
  std::set<int> failed_gpus_;
  // The number of the signal that stopped the run, or 0 if none did. If a signal stopped it,
  // `running_` is the number of tests that were running at that time, and `not_started_` the number
  // of tests that had not begun.
  int stopped_by_ = 0;
  int running_ = 0;
  size_t not_started_ = 0;
};

}  // namespace

int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    const SelftestTimes& times) {
  const auto selection = ParseSelection(registry, arguments);
  if (!selection.ok()) return Refuse(selection.status());
  const FileDescriptor stop = CatchStopSignals();
  auto here = FindGpusInTime(*selection, stop, times);
  if (!here) {
    const int number = stop_signal;
    PrintError(
        (number != 0
             ? "interrupted by " + SignalName(number) + " before the driver had listed its GPUs"
             : "the driver did not list its GPUs within " + Seconds(times.listing_patience)) +
        "; check whether `nvidia-smi` answers, and look for Xid in dmesg");
    return number != 0 ? kExitSignal + number : kExitFailed;
  }
  if (!here->required.missing.empty()) {
    PrintError(here->required.missing);
    for (const std::string& note : here->required.notes) PrintError(note);
    return kExitUnsupported;
  }
  return SelftestRun(*selection, arguments, *std::move(here), stop, times.patience).Run();
}

int SelftestGpuCommand(const Registry& registry, const std::vector<std::string>& arguments,
                       int events_fd) {
  if (arguments.empty()) return Refuse(InvalidArgument("selftest-gpu is for internal use"));
  const auto gpu = GpuNumber(arguments[0]);
  if (!gpu.ok()) return Refuse(gpu.status());
  const auto selection = ParseSelection(registry, {arguments.begin() + 1, arguments.end()});
  if (!selection.ok()) return Refuse(selection.status());
  std::vector<Selftest> tests = selection->OnEachGpu(true);
  for (Selftest& test : tests) test.what.gpu = *gpu;
  RunTests(tests, events_fd);
  return kExitDone;
}

}  // namespace assay
