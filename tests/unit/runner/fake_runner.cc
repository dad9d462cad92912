// A runner that measures nothing and misbehaves on request, for tests of the code that supervises
// runners. It has the commands `describe` and `serve` of assay-runner; the benchmark's name selects
// its behaviour.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "assay/v1/runner.pb.h"
#include "runner/frame_io.h"

namespace assay {
namespace {

constexpr int kEvents = 3;
constexpr char kToken[] = "127.0.0.1:1/fake-token";

struct Behaviour {
  const char* summary;
  v1::ResourceKind resource = v1::RESOURCE_KIND_CPU;
};

const std::map<std::string, Behaviour>& Behaviours() {
  static const std::map<std::string, Behaviour> behaviours = {
      {"ok", {"measures `value` at once"}},
      {"slow", {"measures `value` after `millis` milliseconds"}},
      {"wrong", {"fails its verification"}},
      {"unsupported", {"cannot run these parameters here"}},
      {"no_gpu", {"cannot run here; `value` must be even, and with `millis` `check` is unknown"}},
      {"chatty", {"writes 10 MiB to stderr, then measures `value`"}},
      {"crash", {"writes to stderr and dies of SIGSEGV in its first case"}},
      {"gpu_lost", {"gives its first case up: the GPU fell off the bus"}},
      {"gpu_unusable", {"gives up before Ready: no GPU can be used"}},
      {"bad_abort", {"gives up as if its user had cancelled the job"}},
      {"exit_early", {"exits with 0 after Ready, without Finished"}},
      {"never_ready", {"exits with 7 before Ready"}},
      {"hang", {"sleeps in its first case until a signal or the end of stdin"}},
      {"stubborn", {"sleeps and ignores SIGTERM and the end of stdin"}},
      {"orphan", {"as hang, with a child that ignores SIGTERM"}},
      {"garbage", {"writes bytes to fd 3 that are no frames"}},
      {"truncated", {"ends within a frame"}},
      {"foreign", {"sends a result for a case that it was not given, then measures `value`"}},
      {"flood", {"writes to stderr and fd 3 without end"}},
      {"gang_ok", {"as ok, with `ranks` ranks that check the token", v1::RESOURCE_KIND_NETWORK}},
      {"gang_crash", {"the highest rank dies once the gang has met", v1::RESOURCE_KIND_NETWORK}},
      {"gang_silent", {"is never ready, until the end of stdin", v1::RESOURCE_KIND_NETWORK}},
      {"gang_hang", {"as hang, once the gang has met", v1::RESOURCE_KIND_NETWORK}},
      {"gang_peer_lost",
       {"rank 0 writes to stderr and gives up: it lost rank 1", v1::RESOURCE_KIND_NETWORK}},
      {"gang_compares",
       {"rank 0 says that all have met, and waits for the end of stdin",
        v1::RESOURCE_KIND_NETWORK}},
      {"gang_peer_silent",
       {"rank 0 gives up: rank 1 is unreachable, the others answer", v1::RESOURCE_KIND_NETWORK}},
      {"gang_segv",
       {"rank 0 ends as if a peer were lost, then rank 1 by SIGSEGV", v1::RESOURCE_KIND_NETWORK}},
      {"gang_stopped",
       {"rank 0 stops, then rank 1 dies; rank 0, continued, gives up: its GPU fell off the bus",
        v1::RESOURCE_KIND_NETWORK}},
      {"gang_gpu_lost",
       {"rank 0 ends as if a peer were lost, then rank 1 gives up: its GPU fell off the bus",
        v1::RESOURCE_KIND_NETWORK}},
  };
  return behaviours;
}

bool IsGang(const std::string& name) {
  return Behaviours().at(name).resource == v1::RESOURCE_KIND_NETWORK;
}

void Send(const v1::RunnerEvent& event) {
  if (!WriteFrame(kEvents, event.SerializeAsString()).ok()) _exit(1);
}

void AddInteger(v1::BenchmarkSchema* schema, const char* name, const char* description,
                const char* value, int64_t minimum, int64_t maximum) {
  v1::ParameterSchema* parameter = schema->add_parameters();
  parameter->set_name(name);
  parameter->set_type(v1::PARAMETER_TYPE_INTEGER);
  parameter->set_description(description);
  parameter->set_default_value(value);
  parameter->set_minimum(minimum);
  parameter->set_maximum(maximum);
}

int Describe() {
  v1::RunnerEvent event;
  v1::RunnerDescription* description = event.mutable_description();
  description->mutable_software()->set_blas("FakeBLAS 1.0");
  for (const auto& [name, behaviour] : Behaviours()) {
    v1::BenchmarkSchema* schema = description->add_benchmarks();
    schema->set_name(name);
    schema->set_version(1);
    schema->set_summary(behaviour.summary);
    schema->set_resource(behaviour.resource);
    schema->set_collective(IsGang(name));
    schema->set_model("score = value");
    if (name == "no_gpu") schema->set_unsupported_reason("needs a CUDA GPU; this node has none");
    AddInteger(schema, "value", "what is measured", "1", 0, 1'000'000);
    AddInteger(schema, "millis", "how long a case takes, in milliseconds", "0", 0, 3'600'000);
    if (IsGang(name)) AddInteger(schema, "ranks", "ranks", "2", 2, 64);
    v1::MetricSchema* metric = schema->add_metrics();
    metric->set_name("score");
    metric->set_unit("points");
    metric->set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    metric->set_description("the parameter `value`");
  }
  Send(event);
  return 0;
}

// Runs the command `check NAME k=v...`.
int Check(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("millis=")) {
      std::fprintf(stderr, "assay-runner: \"check\" with these arguments is no command\n");
      return 2;
    }
    if (argument.starts_with("value=") && std::stoll(value) % 2 != 0) {
      std::printf("value is %s; it must be even\n", value.c_str());
      return 2;
    }
  }
  return 0;
}

int64_t Parameter(const v1::BenchmarkCase& one, const std::string& name) {
  const auto found = one.parameters().find(name);
  return found == one.parameters().end() ? 0 : std::stoll(found->second);
}

v1::RunnerEvent ResultOf(const v1::RunnerStart& start, const v1::BenchmarkCase& one) {
  v1::RunnerEvent event;
  v1::CaseResult* result = event.mutable_case_result();
  result->set_case_index(one.case_index());
  result->set_outcome(v1::CASE_OUTCOME_OK);
  *result->mutable_parameters() = one.parameters();
  result->set_benchmark(start.benchmark());
  result->set_benchmark_version(1);
  const auto value = static_cast<double>(Parameter(one, "value"));
  v1::Measurement* measurement = result->add_measurements();
  measurement->set_metric("score");
  measurement->set_unit("points");
  measurement->set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measurement->set_n(3);
  measurement->set_median(value);
  measurement->set_p05(value);
  measurement->set_p95(value);
  measurement->set_ci_low(value);
  measurement->set_ci_high(value);
  for (int i = 0; i < 3; ++i) measurement->add_samples(value);
  measurement->mutable_method()->set_stop_reason("confidence");
  measurement->mutable_method()->set_batch(1);
  v1::Verification* verification = result->mutable_verification();
  verification->set_passed(true);
  verification->set_reference("itself");
  verification->set_elements_checked(1);
  v1::Environment* environment = result->mutable_environment();
  environment->set_cpu_model("Fake CPU");
  environment->set_topology(IsGang(start.benchmark()) ? "network" : "none");
  if (start.counters()) result->mutable_counters()->set_source("analytic");
  return event;
}

v1::RunnerEvent WithFailure(v1::RunnerEvent event, v1::CaseOutcome outcome,
                            v1::FailureClass failure_class, v1::Reason reason,
                            const char* message) {
  v1::CaseResult* result = event.mutable_case_result();
  result->clear_measurements();
  result->set_outcome(outcome);
  result->mutable_verification()->set_passed(outcome != v1::CASE_OUTCOME_FAILED);
  result->mutable_failure()->set_failure_class(failure_class);
  result->mutable_failure()->set_reason(reason);
  result->mutable_failure()->set_message(message);
  return event;
}

// Blocks until stdin ends.
void AwaitEndOfInput() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

[[noreturn]] void SleepForEver() {
  for (;;) pause();
}

[[noreturn]] void Flood() {
  v1::RunnerEvent event;
  event.mutable_case_started()->set_phase(std::string(4096, 'x'));
  for (;;) {
    std::fprintf(stderr, "%s\n", std::string(4096, 'y').c_str());
    Send(event);
  }
}

void WriteOrExit(const std::string& bytes) {
  if (!WriteAll(kEvents, bytes).ok()) _exit(1);
}

[[noreturn]] void GiveUp(v1::Reason reason) {
  v1::RunnerEvent event;
  v1::Failure* const failure = event.mutable_aborted()->mutable_failure();
  failure->set_reason(reason);
  failure->set_evidence("NVML: GPU is lost (fell off the bus)");
  Send(event);
  _exit(1);
}

bool LosesPeer(const std::string& name) {
  return name == "gang_peer_lost" || name == "gang_peer_silent";
}

// Aborts as rank 0 of a gang that has lost rank 1.
[[noreturn]] void LosePeer(const std::string& name, int world_size) {
  std::fprintf(stderr, "NCCL WARN as if from the library\n");
  v1::RunnerEvent event;
  v1::Failure* const failure = event.mutable_aborted()->mutable_failure();
  const bool silent = name == "gang_peer_silent";
  failure->set_reason(silent ? v1::REASON_PEER_UNREACHABLE : v1::REASON_PEER_LOST);
  failure->set_message("rank 1: gone");
  failure->mutable_peer_loss()->set_lost_rank(1);
  if (silent) failure->mutable_peer_loss()->add_silent_ranks(1);
  for (int rank = 2; silent && rank < world_size; ++rank) {
    failure->mutable_peer_loss()->add_heard_ranks(rank);
  }
  Send(event);
  _exit(4);
}

// Ends or stops rank 0. Rank 1 waits until its agent has seen that, and then fails too.
void FollowRankZero(const std::string& name, const v1::RunnerStart& start) {
  if (start.rank() == 0) {
    if (name != "gang_stopped") _exit(4);
    signal(SIGTERM, SIG_IGN);
    raise(SIGSTOP);
    GiveUp(v1::REASON_GPU_LOST);
  }
  usleep(100'000);
  if (name == "gang_gpu_lost") GiveUp(v1::REASON_GPU_LOST);
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

// Misbehaves in the first case as the benchmark's name says.
void Misbehave(const std::string& name, const v1::RunnerStart& start) {
  if (name == "crash" || (name == "gang_crash" && start.rank() == start.world_size() - 1)) {
    std::fprintf(stderr, "fake_runner: about to crash as asked\n");
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  } else if (name == "gpu_lost") {
    GiveUp(v1::REASON_GPU_LOST);
  } else if (name == "bad_abort") {
    GiveUp(v1::REASON_CANCELLED);
  } else if (name == "gang_segv" || name == "gang_gpu_lost" || name == "gang_stopped") {
    FollowRankZero(name, start);
  } else if (LosesPeer(name) && start.rank() == 0) {
    LosePeer(name, start.world_size());
  } else if (name == "hang" || name == "orphan" || name == "gang_hang") {
    if (name == "orphan" && fork() == 0) {
      signal(SIGTERM, SIG_IGN);
      SleepForEver();
    }
    AwaitEndOfInput();
    _exit(5);
  } else if (name == "stubborn") {
    signal(SIGTERM, SIG_IGN);
    SleepForEver();
  } else if (name == "garbage") {
    WriteOrExit("this is not a frame: \xff\xff\xff\xff\xff\xff\xff\xff");
    AwaitEndOfInput();
    _exit(5);
  } else if (name == "truncated") {
    WriteOrExit(EncodeFrame(std::string(100, 'z')).substr(0, 50));
    _exit(0);
  } else if (name == "flood") {
    Flood();
  } else if (name == "chatty") {
    for (int i = 0; i < 10 * 1024; ++i) {
      std::fprintf(stderr, "%s\n", std::string(1023, 'c').c_str());
    }
  } else if (name == "foreign") {
    v1::BenchmarkCase unknown;
    unknown.set_case_index(12345);
    Send(ResultOf(start, unknown));
  }
}

void SendStarted(const v1::BenchmarkCase& one, const char* phase) {
  v1::RunnerEvent started;
  started.mutable_case_started()->set_case_index(one.case_index());
  started.mutable_case_started()->set_phase(phase);
  Send(started);
}

void RunCase(const v1::RunnerStart& start, const v1::BenchmarkCase& one) {
  SendStarted(one, "measure");
  const std::string& name = start.benchmark();
  Misbehave(name, start);
  usleep(static_cast<useconds_t>(Parameter(one, "millis") * 1000));
  if (start.rank() != 0) return;
  v1::RunnerEvent result = ResultOf(start, one);
  if (name == "wrong") {
    result = WithFailure(result, v1::CASE_OUTCOME_FAILED, v1::FAILURE_CLASS_JOB,
                         v1::REASON_VERIFICATION_FAILED, "element 0 is 1, should be 2");
  } else if (name == "unsupported") {
    result = WithFailure(result, v1::CASE_OUTCOME_UNSUPPORTED, v1::FAILURE_CLASS_USER,
                         v1::REASON_UNSUPPORTED, "needs a machine that does not exist");
  }
  Send(result);
}

v1::RunnerCommand ReadCommand(FrameReader* reader) {
  v1::RunnerCommand command;
  const auto frame = reader->Read();
  if (!frame.ok() || !frame->has_value()) _exit(5);
  if (!command.ParseFromString(**frame)) _exit(2);
  return command;
}

int Serve() {
  FrameReader reader(STDIN_FILENO);
  const v1::RunnerStart start = ReadCommand(&reader).start();
  const std::string& name = start.benchmark();
  if (Behaviours().count(name) == 0) {
    std::fprintf(stderr, "fake_runner: no benchmark is called \"%s\"\n", name.c_str());
    return 2;
  }
  if (name == "never_ready") return 7;
  if (name == "gpu_unusable") GiveUp(v1::REASON_GPU_UNUSABLE);
  if (name == "gang_silent") {
    AwaitEndOfInput();
    return 5;
  }
  v1::RunnerEvent ready;
  ready.mutable_ready();
  const bool gang = start.world_size() > 1;
  if (gang && start.rank() == 0) ready.mutable_ready()->set_rendezvous_token(kToken);
  Send(ready);
  if (name == "exit_early") return 0;
  if (gang && ReadCommand(&reader).rendezvous().token() != kToken) {
    std::fprintf(stderr, "fake_runner: rank %d got another token\n", start.rank());
    return 2;
  }
  if (name == "gang_compares") {
    SendStarted(start.cases(0), "compare");
    AwaitEndOfInput();
    return 5;
  }
  for (const v1::BenchmarkCase& one : start.cases()) RunCase(start, one);
  v1::RunnerEvent finished;
  finished.mutable_finished()->set_cases_run(start.cases_size());
  Send(finished);
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const std::string command = argc >= 2 ? argv[1] : "";
  if (command == "check") return assay::Check({argv + 2, argv + argc});
  if (command == "describe") return assay::Describe();
  if (command == "serve") return assay::Serve();
  std::fprintf(stderr, "usage: fake_runner describe|serve\n");
  return 2;
}
