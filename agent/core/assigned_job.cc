#include "agent/core/assigned_job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/nccl_variables.h"

namespace assay::agent {
namespace {

constexpr size_t kMaxJobIdBytes = 128;
constexpr int kMaxCases = 100'000;
constexpr int kMaxRanks = 4096;

std::optional<v1::Failure> BadAssignment(std::string message) {
  return MakeFailure(v1::REASON_BAD_ASSIGNMENT,
                     "the coordinator's assignment makes no sense: " + std::move(message));
}

}  // namespace

v1::RunningJob AssignedJob::Progress() const {
  v1::RunningJob progress;
  progress.set_job_id(spec.job_id());
  progress.set_epoch(spec.epoch());
  progress.set_cases_done(cases_done);
  progress.set_cases_total(spec.cases_size());
  progress.set_phase(state == State::kReporting ? "reporting" : phase);
  return progress;
}

MonotonicTime AssignedJob::StopTime() const {
  // Two seconds are the runners' between SIGTERM and SIGKILL.
  const Duration wanted = std::max<Duration>(std::chrono::seconds(3), lease_length / 10);
  return lease_deadline - std::min(wanted, lease_length / 3);
}

void AssignedJob::Extend(MonotonicTime from, Duration length) {
  if (from + length <= lease_deadline) return;
  lease_length = length;
  lease_deadline = from + length;
}

void AssignedJob::Stop(v1::Failure why) {
  stopping = true;
  launched->Stop(std::move(why));
}

std::optional<v1::Failure> RefusalOf(const v1::JobSpec& spec, const v1::NodeDescription& node) {
  if (spec.job_id().empty() || spec.job_id().size() > kMaxJobIdBytes) {
    return BadAssignment("its job id has " + std::to_string(spec.job_id().size()) + " bytes");
  }
  if (spec.cases_size() == 0 || spec.cases_size() > kMaxCases) {
    return BadAssignment("it has " + std::to_string(spec.cases_size()) + " cases");
  }
  if (spec.world_size() < 1 || spec.world_size() > kMaxRanks || spec.ranks_size() == 0) {
    return BadAssignment("it has " + std::to_string(spec.ranks_size()) + " of " +
                         std::to_string(spec.world_size()) + " ranks");
  }
  std::set<int> ranks;
  for (const v1::RankPlacement& rank : spec.ranks()) {
    if (rank.rank() < 0 || rank.rank() >= spec.world_size() || !ranks.insert(rank.rank()).second) {
      return BadAssignment("rank " + std::to_string(rank.rank()) +
                           " is out of range or given twice");
    }
    if (rank.gpu_index() >= node.inventory().gpus_size()) {
      return MakeFailure(v1::REASON_GPU_MISSING,
                         "the job needs GPU " + std::to_string(rank.gpu_index()) +
                             "; this node has " + std::to_string(node.inventory().gpus_size()));
    }
  }
  for (const auto& [name, value] : spec.nccl()) {
    const Status sound = CheckNcclVariable(name, value);
    if (!sound.ok()) return BadAssignment(sound.message());
  }
  std::set<int> cases;
  for (const v1::BenchmarkCase& one : spec.cases()) {
    if (!cases.insert(one.case_index()).second) {
      return BadAssignment("case " + std::to_string(one.case_index()) + " is given twice");
    }
  }
  const bool known =
      std::any_of(node.benchmarks().begin(), node.benchmarks().end(),
                  [&](const v1::BenchmarkSchema& one) { return one.name() == spec.benchmark(); });
  if (known) return std::nullopt;
  return MakeFailure(v1::REASON_UNKNOWN_BENCHMARK,
                     "this node's runner has no benchmark \"" + spec.benchmark() + "\"");
}

}  // namespace assay::agent
