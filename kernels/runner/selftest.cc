#include "kernels/runner/selftest.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/subprocess.h"
#include "kernels/platform.h"
#include "kernels/runner/arguments.h"
#include "kernels/runner/commands.h"
#include "kernels/runner/exit_codes.h"
#include "kernels/runner/local_case.h"
#include "kernels/runner/node_fault.h"

namespace assay {
namespace {

// How long a process gets to leave that has closed its output.
constexpr Duration kLeavingTimeout = std::chrono::seconds(5);

// A benchmark with the parameters of its self-test, but for those that are given.
struct Selftest {
  LocalCase what;
  ParameterMap given;
  // One of the benchmark's selftest_variants: nobody named it.
  bool variant = false;

  const BenchmarkInfo& Info() const { return what.benchmark->Info(); }
  bool OnOneGpu() const { return Info().resource == Resource::kGpu && !Info().collective; }
  // Parameters that contradict each other do so on every GPU.
  bool Contradicts() const {
    return !what.benchmark->WorkOf(what.parameters, WorldSizeOf(what)).ok();
  }
  // How its line begins: "softmax columns=31 variant=warp ".
  std::string Head() const {
    std::string text = Info().name;
    for (const auto& [name, value] : given) text += " " + name + "=" + value;
    constexpr size_t kWidth = 24;
    text.resize(std::max(text.size(), kWidth), ' ');
    return text + " ";
  }
};

struct Selection {
  std::vector<Selftest> tests;
  bool named = false;  // Else every benchmark.
  std::optional<int> gpu;
  bool require_gpu = false;
};

Result<Selftest> MakeSelftest(const Benchmark* benchmark, const ParameterMap& given, bool variant) {
  Selftest test;
  test.what.benchmark = benchmark;
  test.given = given;
  test.variant = variant;
  const BenchmarkInfo& info = benchmark->Info();
  ParameterMap wanted = info.selftest_parameters;
  for (const auto& [name, value] : given) wanted[name] = value;
  ASSAY_ASSIGN_OR_RETURN(test.what.parameters, CanonicalParameters(info.parameters, wanted));
  return test;
}

// The benchmark with what is given; without that, with each of its variants too.
Status Add(const Benchmark* benchmark, const ParameterMap& given, Selection* selection) {
  ASSAY_ASSIGN_OR_RETURN(Selftest own, MakeSelftest(benchmark, given, false));
  own.what.gpu = selection->gpu;
  ASSAY_RETURN_IF_ERROR(CheckGpu(own.what));
  selection->tests.push_back(std::move(own));
  if (!given.empty()) return Status::Ok();
  for (const ParameterMap& variant : benchmark->Info().selftest_variants) {
    ASSAY_ASSIGN_OR_RETURN(Selftest further, MakeSelftest(benchmark, variant, true));
    further.what.gpu = selection->gpu;
    selection->tests.push_back(std::move(further));
  }
  return Status::Ok();
}

Result<Selection> ParseSelection(const Registry& registry,
                                 const std::vector<std::string>& arguments) {
  Selection selection;
  std::vector<std::pair<const Benchmark*, ParameterMap>> chosen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--gpu") {
      if (++i == arguments.size()) return InvalidArgument("--gpu needs a value");
      ASSAY_ASSIGN_OR_RETURN(selection.gpu, GpuNumber(arguments[i]));
    } else if (argument == "--require-gpu") {
      selection.require_gpu = true;
    } else if (LooksLikeOption(argument)) {
      return UnknownOption(argument, "selftest");
    } else if (!chosen.empty() && argument.find('=') != std::string::npos) {
      ASSAY_RETURN_IF_ERROR(AddParameter(argument, "selftest", &chosen.back().second));
    } else {
      ASSAY_ASSIGN_OR_RETURN(const Benchmark* const benchmark, registry.Find(argument));
      chosen.emplace_back(benchmark, ParameterMap());
    }
  }
  selection.named = !chosen.empty();
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    const bool on_one_gpu = info.resource == Resource::kGpu && !info.collective;
    if (selection.named || (selection.gpu && !on_one_gpu)) continue;
    chosen.emplace_back(benchmark.get(), ParameterMap());
  }
  for (const auto& [benchmark, given] : chosen) {
    ASSAY_RETURN_IF_ERROR(Add(benchmark, given, &selection));
  }
  return selection;
}

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

std::set<int> GpusHere() {
  std::set<int> gpus;
  if (Gpu() == nullptr) return gpus;
  for (const LocalGpu& gpu : Gpu()->Gpus()) gpus.insert(gpu.ordinal);
  return gpus;
}

// If there are none.
std::string WhyNoGpus() {
  return Gpu() == nullptr ? "this build has no CUDA" : Gpu()->TroubleOf(0).evidence;
}

// Why the GPU that is asked for is not there; empty if it is. GPUs that cannot be used are there,
// and fail.
std::string MissingGpu(const Selection& selection, const std::set<int>& gpus) {
  if ((!selection.gpu && !selection.require_gpu) || !CheckGpusUsable(Gpu()).ok()) return "";
  if (gpus.empty()) return "there is no GPU to verify: " + WhyNoGpus();
  if (!selection.gpu || gpus.count(*selection.gpu) != 0) return "";
  return "there is no GPU " + std::to_string(*selection.gpu) + " to verify: this machine has " +
         GpusText(gpus);
}

// Runs what is selected, prints and counts.
class SelftestRun {
 public:
  SelftestRun(const Selection& selection, std::set<int> gpus)
      : selection_(selection), gpus_(std::move(gpus)) {}

  int Run() {
    std::vector<const Selftest*> on_each;
    std::vector<const Selftest*> here;
    const bool each = gpus_.size() > 1 && !selection_.gpu;
    for (const Selftest& test : selection_.tests) {
      (each && test.OnOneGpu() && !test.Contradicts() ? on_each : here).push_back(&test);
    }
    if (!on_each.empty()) RunOnEachGpu(on_each);
    for (const Selftest* test : here) RunInThisProcess(*test);
    std::printf("%s\n", Summary().c_str());
    return CodeOf();
  }

 private:
  // One process a GPU, side by side: an error that breaks one GPU's context spoils no other's.
  void RunOnEachGpu(const std::vector<const Selftest*>& tests) {
    std::vector<std::pair<int, Result<Child>>> children;
    for (const int gpu : gpus_) children.emplace_back(gpu, StartOn(gpu, tests));
    for (auto& [gpu, child] : children) Relay(gpu, child, tests);
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

  // Prints what the process says as it comes; what it owes at its end has failed. The others'
  // lines wait in their pipes.
  void Relay(int gpu, Result<Child>& child, const std::vector<const Selftest*>& tests) {
    auto next = tests.begin();
    const int failed_before = failed_;
    Status ended = child.status();
    if (child.ok()) {
      ForEachLine(std::move(child->output), [&](const std::string& line) {
        if (next == tests.end()) return;  // It sums up.
        std::fputs(line.c_str(), stdout);
        std::fflush(stdout);
        // Else something that a library says.
        if (const auto outcome = OutcomeIn(line, **next)) Count(**next++, *outcome, gpu);
      });
      const auto exit = child->process.Wait(kLeavingTimeout);
      ended = Internal("the process of this GPU " + (exit ? exit->ToString() : "does not end"),
                       "RUNNER_CRASHED");
      if (exit && exit->signal == 0 && exit->code == kExitUsage) {  // No fault of the GPU's.
        contradictions_ += failed_ - failed_before;
        failed_gpus_.erase(gpu);
      }
    }
    for (; next != tests.end(); ++next) Tell(**next, Outcome::kFailed, gpu, ended);
  }

  // Until all who write have closed it.
  static void ForEachLine(FileDescriptor output,
                          const std::function<void(const std::string& line)>& take) {
    std::FILE* const lines = fdopen(output.Release(), "r");
    if (lines == nullptr) return;
    char* line = nullptr;
    size_t capacity = 0;
    while (getline(&line, &capacity, lines) > 0) take(line);
    std::free(line);
    std::fclose(lines);
  }

  // What a line says of the test; absent if it is not the test's.
  static std::optional<Outcome> OutcomeIn(std::string_view line, const Selftest& test) {
    const std::string head = test.Head();
    if (line.substr(0, head.size()) != head) return std::nullopt;
    line.remove_prefix(head.size());
    for (const Outcome outcome : {Outcome::kOk, Outcome::kFailed, Outcome::kUnsupported}) {
      const std::string_view name = OutcomeName(outcome);
      if (line.substr(0, name.size()) == name) return outcome;
    }
    return std::nullopt;
  }

  void RunInThisProcess(const Selftest& test) {
    ExecuteOptions execute;
    execute.measure = false;
    const auto report = RunHere(test.what, execute);
    const Status error = report.ok() ? report->error : report.status();
    if (report.ok() && ExitCodeOf(*report) == kExitUsage) ++contradictions_;
    Tell(test, report.ok() ? report->outcome : Outcome::kFailed, test.what.gpu.value_or(0), error);
  }

  void Tell(const Selftest& test, Outcome outcome, int gpu, const Status& error) {
    Count(test, outcome, gpu);
    std::printf("%s%s%s%s\n", test.Head().c_str(), std::string(OutcomeName(outcome)).c_str(),
                Where(test, gpu).c_str(), error.ok() ? "" : (": " + error.message()).c_str());
    std::fflush(stdout);
  }

  // " on GPU 3", where there are several.
  std::string Where(const Selftest& test, int gpu) const {
    if (gpus_.size() < 2 || test.Info().resource != Resource::kGpu || test.Contradicts()) return "";
    std::set<int> on;
    for (int rank = 0; rank < WorldSizeOf(test.what); ++rank) on.insert(gpu + rank);
    const bool all_here = std::includes(gpus_.begin(), gpus_.end(), on.begin(), on.end());
    return all_here ? " on " + GpusText(on) : "";
  }

  void Count(const Selftest& test, Outcome outcome, int gpu) {
    switch (outcome) {
      case Outcome::kOk:
        ++ok_;
        break;
      case Outcome::kFailed:
        ++failed_;
        if (test.OnOneGpu() && !test.Contradicts()) failed_gpus_.insert(gpu);
        break;
      case Outcome::kUnsupported:
        ++unsupported_;
        lacks_named_ = lacks_named_ || (selection_.named && !test.variant);
        break;
    }
  }

  std::string Summary() const {
    std::string text = std::to_string(ok_) + " ok, " + std::to_string(unsupported_) +
                       " unsupported, " + std::to_string(failed_) + " failed";
    const auto on_gpus = [](const Selftest& test) {
      return test.Info().resource == Resource::kGpu;
    };
    const auto& tests = selection_.tests;
    if (selection_.named && std::none_of(tests.begin(), tests.end(), on_gpus)) return text;
    if (gpus_.empty()) return text + "; no GPU was verified: " + WhyNoGpus();
    text += " on " + GpusText(selection_.gpu ? std::set<int>{*selection_.gpu} : gpus_);
    if (gpus_.size() < 2 || failed_gpus_.empty()) return text;
    return text + "; failed on " + GpusText(failed_gpus_);
  }

  int CodeOf() const {
    if (failed_ > contradictions_) return kExitFailed;
    if (contradictions_ > 0) return kExitUsage;
    return lacks_named_ ? kExitUnsupported : kExitDone;
  }

  const Selection& selection_;
  const std::set<int> gpus_;
  int ok_ = 0;
  int unsupported_ = 0;
  int failed_ = 0;
  int contradictions_ = 0;  // Of those that failed.
  bool lacks_named_ = false;
  std::set<int> failed_gpus_;  // By benchmarks on one GPU.
};

}  // namespace

int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto selection = ParseSelection(registry, arguments);
  if (!selection.ok()) return Refuse(selection.status());
  std::set<int> gpus = GpusHere();
  if (const std::string why = MissingGpu(*selection, gpus); !why.empty()) {
    std::fprintf(stderr, "assay-runner: %s\n", why.c_str());
    return kExitUnsupported;
  }
  return SelftestRun(*selection, std::move(gpus)).Run();
}

}  // namespace assay
