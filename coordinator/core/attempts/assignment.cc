#include "coordinator/core/attempts/assignment.h"

#include <algorithm>
#include <set>

#include "wire/durations.h"

namespace assay::coordinator {
namespace {

// Adds the ranks that run on the job's node number `position`. Each node runs `each` ranks.
void AddRanks(v1::JobSpec& spec, const storage::NewJob& job, int position, int each) {
  for (int i = 0; i < each; ++i) {
    v1::RankPlacement* placement = spec.add_ranks();
    placement->set_rank(position * each + i);
    const auto index = static_cast<size_t>(i);
    placement->set_gpu_index(index < job.gpu_indices.size() ? job.gpu_indices[index] : -1);
  }
}

}  // namespace

v1::Assign MakeAssign(const storage::LeasedJob& leased, const std::string& node_id, Duration lease,
                      const std::function<std::string(const std::string& node_id)>& name_of) {
  const storage::NewJob& job = leased.job;
  v1::Assign assign;
  *assign.mutable_lease() = ToProto(lease);
  v1::JobSpec& spec = *assign.mutable_job();
  spec.set_job_id(job.job_id);
  spec.set_epoch(leased.epoch);
  spec.set_campaign_id(leased.campaign_id);
  spec.set_benchmark(job.benchmark);
  spec.set_benchmark_version(job.benchmark_version);
  spec.set_resource(job.resource);
  spec.set_world_size(job.world_size);
  spec.set_seed(job.seed);
  spec.set_counters(job.counters);
  spec.set_mixed_gpus(job.mixed_gpus);
  spec.set_effort(job.effort);
  *spec.mutable_timeout() = ToProto(job.timeout);
  const std::set<int> done(leased.done_cases.begin(), leased.done_cases.end());
  for (const v1::BenchmarkCase& one : job.cases) {
    if (done.count(one.case_index()) == 0) *spec.add_cases() = one;
  }
  spec.mutable_nccl()->insert(job.nccl.begin(), job.nccl.end());
  const auto nodes = static_cast<int>(leased.node_ids.size());
  for (int i = 0; i < nodes; ++i) {
    const std::string& id = leased.node_ids[static_cast<size_t>(i)];
    spec.add_node_ids(id);
    spec.add_node_names(name_of(id));
    if (id == node_id) AddRanks(spec, job, i, job.world_size / nodes);
  }
  return assign;
}

bool NothingLeft(const storage::LeasedJob& leased) {
  const std::set<int> done(leased.done_cases.begin(), leased.done_cases.end());
  return std::all_of(leased.job.cases.begin(), leased.job.cases.end(),
                     [&](const auto& one) { return done.count(one.case_index()) > 0; });
}

}  // namespace assay::coordinator
