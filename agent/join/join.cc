#include "agent/join/join.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/core/runner_environment.h"
#include "agent/join/enrolment.h"
#include "agent/join/machine.h"
#include "common/file.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "common/units.h"
#include "host/nvml.h"

namespace assay::agent {
namespace {

constexpr Duration kSelfTestPatience = std::chrono::seconds(30);

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Flushes each line, because the program may run for a long time and its output may be a pipe.
void Say(const std::string& line) { std::cout << line << std::endl; }

// Returns false if the node has no usable GPU.
bool SayGpus() {
  std::vector<std::string> warnings;
  const auto nvml = Nvml::Open([&](const std::string& problem) { warnings.push_back(problem); });
  if (!nvml.ok()) {
    if (nvml.status().reason() == Reason::kNoNvidiaDriver) {
      Say("GPUs: none: this machine has no NVIDIA driver (libnvidia-ml.so.1). If it has GPUs, "
          "install "
          "the driver, or start the container with them (--gpus all). Benchmarks of the CPU run.");
      return false;
    }
    const std::string& hint = nvml.status().hint();
    Say("GPUs: none usable: " + nvml.status().message() + (hint.empty() ? "" : "; " + hint) +
        ". Benchmarks of the CPU run.");
    return false;
  }
  std::map<std::string, int> models;
  for (int index = 0; index < (*nvml)->GpuCount(); ++index) ++models[(*nvml)->Describe(index).name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : models) {
    parts.push_back(std::to_string(count) + " x " + Sanitize(name));
  }
  Say("GPUs: " + (parts.empty() ? "none" : Join(parts)) + ", driver " +
      (*nvml)->DriverVersion().value_or("of unknown version"));
  for (const std::string& problem : warnings) Say("  " + problem);
  return !parts.empty();
}

// Runs a short self-test of a few benchmarks, on all GPUs at once, and prints the outcome. The node
// joins the fleet even if the self-test fails, so that the problem is visible there.
void SaySelfTest(const std::string& runner, bool gpus) {
  SubprocessOptions child;
  child.argv = {runner, "selftest", "cpu_gemm"};
  if (gpus) child.argv.insert(child.argv.end(), {"memory_bandwidth", "gemm"});
  child.environment = RunnerEnvironment(/*visible_gpus=*/std::nullopt);
  const MonotonicTime start = Clock::Real().Now();
  const Result<CommandOutput> done = RunCommand(std::move(child), kSelfTestPatience);
  if (!done.ok()) return Say("self-test: " + done.status().message());
  const std::string time = " in " + FormatDuration(Clock::Real().Now() - start);
  if (done->exit.ok()) return Say("self-test: passed" + time);
  Say("self-test: not passed" + time + "; the runner " + done->exit.ToString());
  for (const std::string_view line : Split(done->output, '\n')) {
    if (!line.empty() && !line.ends_with(" ok")) Say("  " + Sanitize(line));
  }
}

// Returns true if a failed attempt to join is harmless for a node that is already a member of the
// fleet. For example, a script that runs the join command at every boot reuses its invite, which is
// then refused because it has already been used.
bool IsNoMatterToMembers(const Status& error) {
  switch (error.reason()) {
    case Reason::kInviteExpired:
    case Reason::kInviteRevoked:
    case Reason::kInviteUsed:
    case Reason::kUnknownInvite:
      return true;
    default:
      return error.code() == Code::kUnavailable;
  }
}

}  // namespace

Status JoinFleet(const Rental& rental, const JoinOptions& options) {
  const std::string folder = IdentityFolder(options.agent.data);
  const MachineFacts machine = ReadMachine(rental);
  ASSAY_ASSIGN_OR_RETURN(const auto before, identity::LoadEnrolled(folder));
  // A copy must not use the key of another node.
  if (before) ASSAY_RETURN_IF_ERROR(CheckMachine(folder, machine));
  const std::string name = options.agent.name.empty() ? HostName() : options.agent.name;
  Result<identity::Enrolled> joined = identity::Join(folder, options.point, options.token, name);
  if (!joined.ok()) {
    const bool again = before && before->join.pin == options.point.pin;
    if (!again || !IsNoMatterToMembers(joined.status())) return joined.status();
    Say("already joined; the invite was not used (" + Sanitize(joined.status().message()) + ")");
    joined = *before;
  }
  const identity::Enrolled& enrolled = *joined;
  ASSAY_RETURN_IF_ERROR(CheckRole(enrolled));
  ASSAY_RETURN_IF_ERROR(CheckMachine(folder, machine));
  // A different id belongs to an earlier node that was removed, or that was in no fleet.
  const std::string id_file = options.agent.data + "/node_id";
  std::error_code error;
  if (FirstLineOf(id_file) != enrolled.id) std::filesystem::remove(id_file, error);
  Say("joined fleet " + enrolled.fleet + " as " + enrolled.role + " " + enrolled.name);
  Say("coordinator: " + Join(enrolled.coordinators));
  Say("data folder: " + options.agent.data);
  if (!rental.provider.empty()) {
    Say("provider: " + rental.provider + (rental.region.empty() ? "" : ", " + rental.region));
  }
  SaySelfTest(options.agent.runner, SayGpus());
  return Status::Ok();
}

}  // namespace assay::agent
