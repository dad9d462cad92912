#include "coordinator/core/assignment.h"

#include <algorithm>
#include <set>

#include "coordinator/core/durations.h"

namespace assay::coordinator {
namespace {

void AddRank(v1::JobSpec& spec, const storage::NewJob& job, int rank) {
  v1::RankPlacement* placement = spec.add_ranks();
  placement->set_rank(rank);
  const auto index = static_cast<size_t>(rank);
  placement->set_gpu_index(index < job.gpu_indices.size() ? job.gpu_indices[index] : -1);
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
  *spec.mutable_timeout() = ToProto(job.timeout);
  const std::set<int> done(leased.done_cases.begin(), leased.done_cases.end());
  for (const v1::BenchmarkCase& one : job.cases) {
    if (done.count(one.case_index()) == 0) *spec.add_cases() = one;
  }
  for (size_t i = 0; i < leased.node_ids.size(); ++i) {
    spec.add_node_ids(leased.node_ids[i]);
    spec.add_node_names(name_of(leased.node_ids[i]));
    if (leased.node_ids.size() > 1 && leased.node_ids[i] == node_id) {
      AddRank(spec, job, static_cast<int>(i));
    }
  }
  if (leased.node_ids.size() == 1) {
    for (int rank = 0; rank < job.world_size; ++rank) AddRank(spec, job, rank);
  }
  return assign;
}

bool NothingLeft(const storage::LeasedJob& leased) {
  const std::set<int> done(leased.done_cases.begin(), leased.done_cases.end());
  return std::all_of(leased.job.cases.begin(), leased.job.cases.end(),
                     [&](const auto& one) { return done.count(one.case_index()) > 0; });
}

}  // namespace assay::coordinator
