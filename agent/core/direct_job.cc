#include "agent/core/direct_job.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "common/text.h"
#include "common/units.h"
#include "common/uuid.h"
#include "model/parameter.h"
#include "wire/benchmark_schema.h"

namespace assay::agent {
namespace {

constexpr int64_t kTimeoutSeconds = 20 * 60;
constexpr uint64_t kSeed = 1;

Result<const v1::BenchmarkSchema*> FindSchema(const v1::NodeDescription& node,
                                              const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const v1::BenchmarkSchema& schema : node.benchmarks()) {
    if (schema.name() == name) return &schema;
    names.push_back(schema.name());
    list += (list.empty() ? "" : ", ") + schema.name();
  }
  Status error = NotFound(
      "this node has no benchmark \"" + name + "\"; it has " + (list.empty() ? "none" : list),
      Reason::kUnknownBenchmark);
  const std::string closest = ClosestName(name, names);
  return closest.empty() ? error : error.WithHint("did you mean " + Quote(closest) + "?");
}

int RanksOf(const v1::BenchmarkSchema& schema, const ParameterMap& parameters) {
  const auto ranks = parameters.find("ranks");
  if (!schema.collective() || ranks == parameters.end()) return 1;
  const auto number = ParseInteger(ranks->second);
  return number.ok() ? static_cast<int>(std::clamp<int64_t>(*number, 1, 4096)) : 1;
}

Status BadGpus(std::string description) {
  return InvalidArgument("the GPUs asked for cannot be used")
      .WithViolations({{"gpu_indices", std::move(description)}});
}

// Returns the GPUs of `count` ranks, in rank order.
Result<std::vector<int>> ChooseGpus(const v1::NodeDescription& node,
                                    const v1::RunJobRequest& request, int count) {
  const int present = node.inventory().gpus_size();
  if (count > present) {
    return FailedPrecondition("the benchmark needs " + std::to_string(count) +
                                  " GPUs; this node has " + std::to_string(present),
                              Reason::kTooFewGpus);
  }
  std::vector<int> gpus(request.gpu_indices().begin(), request.gpu_indices().end());
  if (gpus.empty()) {
    gpus.resize(static_cast<size_t>(count));
    std::iota(gpus.begin(), gpus.end(), 0);
    return gpus;
  }
  if (static_cast<int>(gpus.size()) != count) {
    return BadGpus(std::to_string(gpus.size()) + " GPUs are given; the benchmark runs on " +
                   std::to_string(count));
  }
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= present) {
      return BadGpus(std::to_string(gpu) + " is not a GPU of this node; it has 0 to " +
                     std::to_string(present - 1));
    }
  }
  if (std::set<int>(gpus.begin(), gpus.end()).size() != gpus.size()) {
    return BadGpus("a GPU is given twice");
  }
  return gpus;
}

}  // namespace

Result<v1::JobSpec> PlanDirectJob(const v1::NodeDescription& node,
                                  const v1::RunJobRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const v1::BenchmarkSchema* schema, FindSchema(node, request.benchmark()));
  ASSAY_ASSIGN_OR_RETURN(const ParameterMap parameters,
                         schema::CompleteParameters(
                             *schema, {request.parameters().begin(), request.parameters().end()}));
  if (!schema->unsupported_reason().empty()) {
    return FailedPrecondition(schema->name() + " cannot run here: " + schema->unsupported_reason(),
                              Reason::kUnsupported);
  }
  const auto nodes = parameters.find("nodes");
  if (schema->collective() && nodes != parameters.end() && nodes->second != "1") {
    return FailedPrecondition(
               schema->name() + " over " + nodes->second + " nodes is no job for one agent",
               Reason::kSeveralNodes)
        .WithHint("submit a campaign to a coordinator that these nodes are attached to");
  }
  if (const Status read = schema::CheckCounters(*schema); request.counters() && !read.ok()) {
    return InvalidArgument("the counters asked for cannot be read")
        .WithViolations({{"counters", read.message()}});
  }
  v1::JobSpec job;
  job.set_job_id(NewUuid());
  job.set_epoch(1);
  job.set_benchmark(schema->name());
  job.set_benchmark_version(schema->version());
  job.set_resource(schema->resource());
  job.set_world_size(RanksOf(*schema, parameters));
  job.set_seed(kSeed);
  job.set_counters(request.counters());
  job.set_effort(request.effort());
  job.set_mixed_gpus(true);  // The caller knows the GPUs of this agent.
  job.mutable_timeout()->set_seconds(kTimeoutSeconds);
  job.add_node_ids(node.node_id());
  job.add_node_names(node.name());
  v1::BenchmarkCase* one = job.add_cases();
  one->mutable_parameters()->insert(parameters.begin(), parameters.end());
  std::vector<int> gpus(static_cast<size_t>(job.world_size()), -1);
  if (schema->resource() == v1::RESOURCE_KIND_GPU) {
    ASSAY_ASSIGN_OR_RETURN(gpus, ChooseGpus(node, request, job.world_size()));
  } else if (!request.gpu_indices().empty()) {
    return BadGpus(schema->name() + " does not run on GPUs");
  }
  for (int rank = 0; rank < job.world_size(); ++rank) {
    v1::RankPlacement* placement = job.add_ranks();
    placement->set_rank(rank);
    placement->set_gpu_index(gpus[static_cast<size_t>(rank)]);
  }
  return job;
}

}  // namespace assay::agent
