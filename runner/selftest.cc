#include "runner/selftest.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/subprocess.h"
#include "host/platform.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/gpu_census.h"
#include "runner/line_output.h"
#include "runner/line_streams.h"
#include "runner/local_case.h"
#include "runner/node_fault.h"
#include "runner/output.h"
#include "runner/selftest_selection.h"
#include "runner/stop_signal.h"

namespace assay {
namespace {

// How long a process gets to leave that has closed its output.
constexpr Duration kLeavingTimeout = std::chrono::seconds(5);

// "GPU 3", "GPUs 0 to 7", "GPUs 0, 2".
std::string GpusText(const std::set<int>& gpus) {
  if (gpus.size() == 1) return "GPU " + std::to_string(*gpus.begin());
  const int first = *gpus.begin();
  const int last = *gpus.rbegin();
  if (last - first + 1 == static_cast<int>(gpus.size()) && gpus.size() > 2) {
    return "GPUs " + std::to_string(first) + " to " + std::to_string(last);
  }
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "GPUs " : ", ") + std::to_string(gpu);
  return text;
}

// What this process can tell of the GPUs here.
struct GpusHere {
  std::set<int> gpus;
  std::string missing;  // Why GPUs that are asked for are not there; empty if they are.
  std::vector<std::string> notes;
};

// If there are none.
std::string WhyNoGpus() {
  return Gpu() == nullptr ? "this build has no CUDA" : Gpu()->TroubleOf(0).evidence;
}

// GPUs that cannot be used are there, and fail.
GpusHere FindGpus(const std::optional<int>& wanted, bool require_gpu) {
  GpusHere here;
  const std::vector<LocalGpu> offered = Gpu() == nullptr ? std::vector<LocalGpu>() : Gpu()->Gpus();
  for (const LocalGpu& gpu : offered) here.gpus.insert(gpu.ordinal);
  if ((!wanted && !require_gpu) || !CheckGpusUsable(Gpu()).ok()) return here;
  if (offered.empty()) {
    here.missing = "there is no GPU to verify: " + WhyNoGpus();
  } else if (wanted && here.gpus.count(*wanted) == 0) {
    here.missing = "there is no GPU " + std::to_string(*wanted) + " to verify: this machine has " +
                   GpusText(here.gpus);
  } else if (!wanted) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    GpuCensus census = TakeCensus(offered, ReadMachineGpus(),
                                  visible == nullptr ? std::nullopt : std::optional(visible));
    here.missing = std::move(census.fault);
    here.notes = std::move(census.notes);
  }
  return here;
}

const char* SignalName(int number) { return number == SIGINT ? "SIGINT" : "SIGTERM"; }

// "20 s".
std::string Seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

// Where tests run one after another: a process for a GPU of its own, or this process.
struct Place {
  std::vector<const Selftest*> tests;
  std::optional<int> gpu;
  std::optional<Subprocess> process;
  bool stopped = false;  // The process, by a signal of its own: what it says is not of tests.
  bool ended = false;    // The process.
  size_t next = 0;       // The test that runs, or comes first.
  MonotonicTime since = Clock::Real().Now();

  bool Done() const { return next == tests.size(); }
  const Selftest& Test() const { return *tests[next]; }
  void Advance() {
    ++next;
    since = Clock::Real().Now();
  }
};

// Runs what is selected, prints and counts.
class SelftestRun {
 public:
  SelftestRun(const Selection& selection, GpusHere here, StopSignal* signal, LineOutput* errors,
              Duration patience)
      : selection_(selection),
        gpus_(std::move(here.gpus)),
        notes_(std::move(here.notes)),
        signal_(*signal),
        lines_(stdout, signal->fd()),
        errors_(*errors),
        patience_(patience) {}

  int Run() {
    std::vector<const Selftest*> on_each;
    std::vector<const Selftest*> here;
    const bool each = gpus_.size() > 1 && !selection_.gpu;
    for (const Selftest& test : selection_.tests) {
      (each && test.OnOneGpu() && !test.Contradicts() ? on_each : here).push_back(&test);
    }
    if (!on_each.empty()) RunOnEachGpu(on_each);
    RunInThisProcess(std::move(here));
    Print(Summary());
    EndProcesses();
    return CodeOf();
  }

 private:
  // One process a GPU, side by side: an error that breaks one GPU's context spoils no other's,
  // and one that hangs holds up no other's.
  void RunOnEachGpu(const std::vector<const Selftest*>& tests) {
    LineStreams lines(signal_.fd());
    for (const int gpu : gpus_) {
      auto child = StartOn(gpu, tests);
      if (!child.ok()) {
        for (const Selftest* test : tests)
          Tell(*test, v1::CASE_OUTCOME_FAILED, gpu, child.status());
        continue;
      }
      lines.Add(std::move(child->output));
      Place& place = processes_.emplace_back();
      place.tests = tests;
      place.gpu = gpu;
      place.process = std::move(child->process);
    }
    Relay(&lines);
    for (const Place& place : processes_) TellUnanswered(place);
  }

  // Until all processes have closed their output or, once a signal has come, what they had said
  // is told.
  void Relay(LineStreams* lines) {
    for (size_t open = processes_.size(); open > 0;) {
      const auto event = lines->Next(stopped_by_ == 0 ? Duration::max() : Duration(0));
      Place& place = processes_[event.source];
      switch (event.kind) {
        case LineStreams::Kind::kLine:
          if (!place.Done()) {
            TakeLine(event.line, &place);
            break;
          }
          [[fallthrough]];  // It sums up, and ends.
        case LineStreams::Kind::kEnd:
          if (std::exchange(place.ended, true)) break;
          --open;
          if (stopped_by_ == 0) EndOf(&place);
          break;
        case LineStreams::Kind::kSilence:
          if (stopped_by_ != 0) return;
          break;
        case LineStreams::Kind::kStop:
          stopped_by_ = signal_.Take();
          break;
      }
    }
  }

  // A process that is in the hands of its GPU's driver may never end: it is left behind.
  void EndProcesses() {
    for (Place& place : processes_) place.process->Signal(SIGKILL);
    const MonotonicTime deadline = Clock::Real().Now() + kLeavingTimeout;
    for (Place& place : processes_) {
      if (place.process->Wait(deadline - Clock::Real().Now())) continue;
      errors_.Print("assay-runner: the process " + std::to_string(place.process->pid()) +
                        " of GPU " + std::to_string(*place.gpu) + " does not end",
                    stopped_by_ != 0);
      new Subprocess(*std::exchange(place.process, std::nullopt));  // Its destructor would wait.
    }
  }

  struct Child {
    FileDescriptor output;
    Subprocess process;
  };

  static Result<Child> StartOn(int gpu, const std::vector<const Selftest*>& tests) {
    ASSAY_ASSIGN_OR_RETURN(Pipe output, MakePipe());
    SubprocessOptions options;
    options.argv = {"/proc/self/exe", "selftest", "--gpu", std::to_string(gpu)};
    for (const Selftest* test : tests) {
      if (test->variant) continue;  // The name brings it.
      options.argv.push_back(test->Info().name);
      for (const auto& [name, value] : test->given) options.argv.push_back(name + "=" + value);
    }
    options.descriptors = {{STDOUT_FILENO, output.write.get()}, {STDERR_FILENO, STDERR_FILENO}};
    options.die_with_parent = true;
    ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
    return Child{std::move(output.read), std::move(process)};
  }

  void TakeLine(const std::string& line, Place* place) {
    const std::string head = place->Test().Head();
    place->stopped = place->stopped || line.compare(0, head.size() + 9, head + "no answer") == 0;
    if (place->stopped) return;
    if (const auto outcome = OutcomeIn(line, place->Test())) {
      Print(line);
      Count(place->Test(), *outcome, *place->gpu);
      place->Advance();
    } else {  // Something that a library says.
      Print("GPU " + std::to_string(*place->gpu) + ": " + line);
    }
  }

  void Print(const std::string& line) {
    if (!lines_.Print(line, stopped_by_ != 0) && stopped_by_ == 0) stopped_by_ = signal_.Take();
  }

  // What a process owes at its end has failed, unless a signal ended it that is to end all: who
  // signals every process may reach it first.
  void EndOf(Place* place) {
    const auto exit = place->process->Wait(kLeavingTimeout);
    for (const int signal : {SIGINT, SIGTERM}) {
      if (exit && exit->signal == 0 && exit->code == kExitSignal + signal) stopped_by_ = signal;
    }
    if (stopped_by_ != 0) return;
    if (exit && exit->signal == 0 && exit->code == kExitUsage) {  // No fault of the GPU's.
      contradictions_ += failed_on_[*place->gpu];
      failed_on_.erase(*place->gpu);
    }
    const Status ended = Internal(
        "the process of this GPU " + (exit ? exit->ToString() : "does not end"), "RUNNER_CRASHED");
    for (; !place->Done(); place->Advance()) {
      Tell(place->Test(), v1::CASE_OUTCOME_FAILED, *place->gpu, ended);
    }
  }

  // What a line says of the test; absent if it is not the test's.
  static std::optional<v1::CaseOutcome> OutcomeIn(std::string_view line, const Selftest& test) {
    const std::string head = test.Head();
    if (line.substr(0, head.size()) != head) return std::nullopt;
    line.remove_prefix(head.size());
    for (const v1::CaseOutcome outcome :
         {v1::CASE_OUTCOME_OK, v1::CASE_OUTCOME_FAILED, v1::CASE_OUTCOME_UNSUPPORTED}) {
      const std::string name = OutcomeText(outcome);
      if (line.substr(0, name.size()) == name) return outcome;
    }
    return std::nullopt;
  }

  void RunInThisProcess(std::vector<const Selftest*> tests) {
    if (stopped_by_ != 0) {
      not_begun_ += tests.size();
      return;
    }
    Place place;
    for (place.tests = std::move(tests); !place.Done() && stopped_by_ == 0; place.Advance()) {
      const Selftest& test = place.Test();
      const auto report = RunUnlessStopped<Result<ExecutedCase>>(
          [what = test.what] {
            ExecuteOptions execute;
            execute.measure = false;
            return RunHere(what, execute);
          },
          signal_, patience_,
          [&] {
            errors_.Print("assay-runner: no answer yet from " + test.Name() + WaitedFor(place),
                          false);
            return true;
          });
      if (!report) {
        stopped_by_ = signal_.Take();
        break;
      }
      const Status error = report->ok() ? (*report)->error : report->status();
      if (report->ok() && ExitCodeOf(**report) == kExitUsage) ++contradictions_;
      Tell(test, report->ok() ? (*report)->result.outcome() : v1::CASE_OUTCOME_FAILED,
           test.what.gpu.value_or(0), error);
    }
    TellUnanswered(place);
  }

  // " on GPU 3 for 40 s".
  std::string WaitedFor(const Place& place) const {
    return Where(place.Test(), place.gpu.value_or(selection_.gpu.value_or(0))) + " for " +
           Seconds(Clock::Real().Now() - place.since);
  }

  // Of what a signal has ended.
  void TellUnanswered(const Place& place) {
    if (place.Done()) return;
    Print(place.Test().Head() + "no answer" + WaitedFor(place));
    ++unanswered_;
    not_begun_ += place.tests.size() - place.next - 1;
    if (place.gpu) unanswered_gpus_.insert(*place.gpu);
  }

  void Tell(const Selftest& test, v1::CaseOutcome outcome, int gpu, const Status& error) {
    Count(test, outcome, gpu);
    Print(test.Head() + OutcomeText(outcome) + Where(test, gpu) +
          (error.ok() ? "" : ": " + error.message()));
  }

  // " on GPU 3", where there are several.
  std::string Where(const Selftest& test, int gpu) const {
    if (gpus_.size() < 2 || test.Info().resource != Resource::kGpu || test.Contradicts()) return "";
    std::set<int> on;
    for (int rank = 0; rank < WorldSizeOf(test.what); ++rank) on.insert(gpu + rank);
    const bool all_here = std::includes(gpus_.begin(), gpus_.end(), on.begin(), on.end());
    return all_here ? " on " + GpusText(on) : "";
  }

  void Count(const Selftest& test, v1::CaseOutcome outcome, int gpu) {
    switch (outcome) {
      case v1::CASE_OUTCOME_OK:
        ++ok_;
        break;
      case v1::CASE_OUTCOME_FAILED:
        ++failed_;
        if (test.OnOneGpu() && !test.Contradicts()) ++failed_on_[gpu];
        break;
      case v1::CASE_OUTCOME_UNSUPPORTED:
        ++unsupported_;
        lacks_named_ = lacks_named_ || (selection_.named && !test.variant);
        break;
      default:
        break;
    }
  }

  std::string Summary() const {
    std::string text = std::to_string(ok_) + " ok, " + std::to_string(unsupported_) +
                       " unsupported, " + std::to_string(failed_) + " failed" + OnGpus();
    if (stopped_by_ != 0) {
      text += std::string("; ") + SignalName(stopped_by_) + " came before " +
              std::to_string(unanswered_) + " had answered";
      if (!unanswered_gpus_.empty()) text += " on " + GpusText(unanswered_gpus_);
      text += ", " + std::to_string(not_begun_) + " had not begun";
    }
    for (const std::string& note : notes_) text += "; " + note;
    return text;
  }

  // " on GPUs 0 to 7; failed on GPU 3".
  std::string OnGpus() const {
    const auto on_gpus = [](const Selftest& test) {
      return test.Info().resource == Resource::kGpu;
    };
    const auto& tests = selection_.tests;
    if (selection_.named && std::none_of(tests.begin(), tests.end(), on_gpus)) return "";
    if (gpus_.empty()) return "; no GPU was verified: " + WhyNoGpus();
    std::string text = " on " + GpusText(selection_.gpu ? std::set<int>{*selection_.gpu} : gpus_);
    if (gpus_.size() < 2 || failed_on_.empty()) return text;
    std::set<int> failed;
    for (const auto& [gpu, count] : failed_on_) failed.insert(gpu);
    return text + "; failed on " + GpusText(failed);
  }

  int CodeOf() const {
    if (stopped_by_ != 0) return kExitSignal + stopped_by_;
    if (failed_ > contradictions_) return kExitFailed;
    if (contradictions_ > 0) return kExitUsage;
    return lacks_named_ ? kExitUnsupported : kExitDone;
  }

  const Selection& selection_;
  const std::set<int> gpus_;
  const std::vector<std::string> notes_;
  StopSignal& signal_;
  LineOutput lines_;
  LineOutput& errors_;
  const Duration patience_;
  std::vector<Place> processes_;  // One a GPU.
  int ok_ = 0;
  int unsupported_ = 0;
  int failed_ = 0;
  int contradictions_ = 0;  // Of those that failed.
  bool lacks_named_ = false;
  std::map<int, int> failed_on_;  // How many of the benchmarks on one GPU, by GPU.
  int stopped_by_ = 0;            // The signal.
  int unanswered_ = 0;            // These three once it has come.
  size_t not_begun_ = 0;
  std::set<int> unanswered_gpus_;
};

}  // namespace

int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    Duration patience, Duration listing_patience) {
  const auto selection = ParseSelection(registry, arguments);
  if (!selection.ok()) return Refuse(selection.status());
  StopSignal signal;
  LineOutput errors(stderr, signal.fd());
  const MonotonicTime deadline = Clock::Real().Now() + listing_patience;
  auto here = RunUnlessStopped<GpusHere>(
      [gpu = selection->gpu, require_gpu = selection->require_gpu] {
        return FindGpus(gpu, require_gpu);
      },
      signal, std::min(patience, listing_patience),
      [&] {
        errors.Print("assay-runner: no answer yet from the driver to which GPUs it has", false);
        return Clock::Real().Now() < deadline;
      });
  if (!here) {
    const int number = signal.Take();
    const std::string when = number != 0
                                 ? std::string(SignalName(number)) + " came before the driver had"
                                 : "for " + Seconds(listing_patience) + " the driver has not";
    errors.Print("assay-runner: " + when +
                     " said which GPUs it has: see whether `nvidia-smi` answers, and look for Xid "
                     "in dmesg",
                 number != 0);
    return number != 0 ? kExitSignal + number : kExitFailed;
  }
  if (!here->missing.empty()) {
    errors.Print("assay-runner: " + here->missing, false);
    for (const std::string& note : here->notes) errors.Print("assay-runner: " + note, false);
    return kExitUnsupported;
  }
  return SelftestRun(*selection, *std::move(here), &signal, &errors, patience).Run();
}

}  // namespace assay
