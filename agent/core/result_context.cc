#include "agent/core/result_context.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "host/gpu_model.h"

namespace assay::agent {
namespace {

std::set<int> GpusOf(const v1::JobSpec& job) {
  std::set<int> gpus;
  for (const v1::RankPlacement& rank : job.ranks()) {
    if (rank.gpu_index() >= 0) gpus.insert(rank.gpu_index());
  }
  return gpus;
}

int NodeCount(const v1::JobSpec& job) { return std::max(1, job.node_ids_size()); }

void CompleteGpus(const std::vector<v1::GpuInventory>& gpus, v1::Environment* environment) {
  const v1::GpuInventory& first = gpus.front();
  environment->set_gpu_model(first.model());
  environment->set_gpu_form_factor(first.form_factor());
  environment->set_mig_profile(first.mig_profile());
  if (first.has_ecc_enabled()) environment->set_ecc_enabled(first.ecc_enabled());
  // A collective is as fast as its most limited member.
  for (const v1::GpuInventory& gpu : gpus) {
    if (!gpu.has_power_limit_watts()) continue;
    if (!environment->has_power_limit_watts() ||
        gpu.power_limit_watts() < environment->power_limit_watts()) {
      environment->set_power_limit_watts(gpu.power_limit_watts());
    }
  }
}

// The runner reports the GPU's name as CUDA gives it.
void NameGpu(v1::Environment* environment) {
  const GpuModel gpu = ParseGpuName(environment->gpu_model());
  environment->set_gpu_model(gpu.model);
  environment->set_gpu_form_factor(gpu.form_factor);
}

// Corrects the list of UUIDs of the GPUs that ran the job. In the runner's list, which covers all
// nodes, replaces the UUIDs of this node's GPUs with those that the agent knows. Clears an
// incomplete list, and fills it in again only if the whole job ran on this node.
void CompleteGpuUuids(const ResultContext& context, v1::Provenance* provenance) {
  auto& uuids = *provenance->mutable_gpu_uuids();
  const auto own = static_cast<int>(context.gpus.size());
  const bool told =
      own > 0 && own <= context.job.ranks_size() && uuids.size() == context.job.world_size();
  if (!told) uuids.Clear();
  for (int i = 0; i < own; ++i) {
    const std::string& uuid = context.gpus[static_cast<size_t>(i)].uuid();
    if (told) {
      const int rank = context.job.ranks(i).rank();
      if (rank >= 0 && rank < uuids.size()) uuids[rank] = uuid;
    } else if (NodeCount(context.job) == 1) {
      *uuids.Add() = uuid;
    }
  }
}

// If the gang has several models of GPU, names them all instead of the model of rank 0.
void CompleteModels(const ResultContext& context, v1::CaseResult* result) {
  auto& models = *result->mutable_provenance()->mutable_gpu_models();
  if (context.gpus.empty() || models.size() != context.job.world_size()) models.Clear();
  const std::set<std::string> sorted(models.begin(), models.end());
  if (sorted.size() < 2) return models.Clear();
  std::string all;
  for (const std::string& model : sorted) all += (all.empty() ? "" : " + ") + model;
  result->mutable_environment()->set_gpu_model(all);
  result->mutable_environment()->clear_gpu_form_factor();
  result->mutable_environment()->clear_mig_profile();
}

}  // namespace

std::string TopologyClass(const v1::NodeInventory& inventory, const v1::JobSpec& job) {
  if (job.resource() == v1::RESOURCE_KIND_NETWORK || NodeCount(job) > 1) return "network";
  std::vector<NvmlLink> links;
  for (const v1::GpuLink& link : inventory.gpu_links()) {
    links.push_back({link.gpu_a(), link.gpu_b(), link.kind(), ""});
  }
  return assay::TopologyClass(GpusOf(job), links);
}

void CompleteResult(const ResultContext& context, v1::CaseResult* result) {
  const v1::NodeInventory& inventory = context.node.inventory();
  result->set_job_id(context.job.job_id());
  result->set_epoch(context.job.epoch());
  result->set_benchmark(context.job.benchmark());
  if (context.job.benchmark_version() != 0) {
    result->set_benchmark_version(context.job.benchmark_version());
  }
  v1::Environment* environment = result->mutable_environment();
  environment->clear_power_limit_watts();
  const bool on_gpus = !GpusOf(context.job).empty();
  environment->set_gpu_count(on_gpus ? context.job.world_size() : 0);
  environment->set_topology(TopologyClass(inventory, context.job));
  environment->set_cpu_model(inventory.cpu().model());
  environment->set_node_count(NodeCount(context.job));
  if (on_gpus && inventory.has_driver_version()) {
    environment->set_driver_version(inventory.driver_version());
  }
  if (context.gpus.empty()) {
    NameGpu(environment);
  } else {
    CompleteGpus(context.gpus, environment);
  }
  environment->clear_nccl();
  environment->mutable_nccl()->insert(context.nccl.begin(), context.nccl.end());

  v1::Provenance* provenance = result->mutable_provenance();
  *provenance->mutable_node_ids() = context.job.node_ids();
  *provenance->mutable_node_names() = context.job.node_names();
  CompleteGpuUuids(context, provenance);
  CompleteModels(context, result);
  provenance->set_provider(context.node.provider());
  provenance->set_region(context.node.region());
  if (context.node.has_price_per_hour()) {
    provenance->set_price_per_hour(context.node.price_per_hour());
  }
  provenance->set_kernel(inventory.kernel());
  provenance->set_agent_version(context.node.agent_version());
  provenance->set_agent_instance_id(context.node.agent_instance_id());
  provenance->set_simulated(inventory.simulated());

  auto* flags = result->mutable_conditions()->mutable_flags();
  for (const std::string& flag : context.flags) {
    if (std::find(flags->begin(), flags->end(), flag) == flags->end()) *flags->Add() = flag;
  }
}

}  // namespace assay::agent
