#include "coordinator/core/attempts/result_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "campaign/accept_rule.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using storage::LeasedJob;

// Factor by which a reported efficiency may exceed the value computed from the reported times. The
// two may differ slightly, because medians are rounded. A higher efficiency cannot be based on
// these times.
constexpr double kRounding = 1.01;

const v1::GpuInventory* FindGpu(const v1::NodeInventory& inventory, int index) {
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    if (gpu.index() == index) return &gpu;
  }
  return nullptr;
}

const v1::GpuInventory* FindGpu(const v1::NodeInventory& inventory, const std::string& uuid) {
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    if (!uuid.empty() && gpu.uuid() == uuid) return &gpu;
  }
  return nullptr;
}

// Returns the GPU of every rank (process of the job). Finds it by the UUID that the rank reported
// or, failing that, by its index, although the indices may have changed since the inventory was
// read. Returns an empty vector if any of the GPUs is not in its node's inventory.
std::vector<const v1::GpuInventory*> GpusOf(const LeasedJob& job, const JobNodes& nodes,
                                            const v1::Provenance& said) {
  const auto each = static_cast<size_t>(job.job.world_size) / std::max<size_t>(1, nodes.size());
  const auto& indices = job.job.gpu_indices;
  std::vector<const v1::GpuInventory*> gpus;
  for (size_t rank = 0; rank < static_cast<size_t>(job.job.world_size); ++rank) {
    if (each == 0 || rank / each >= nodes.size() || rank % each >= indices.size()) return {};
    const v1::NodeInventory& inventory = nodes[rank / each]->inventory();
    const v1::GpuInventory* gpu = nullptr;
    if (said.gpu_uuids_size() == job.job.world_size) {
      gpu = FindGpu(inventory, said.gpu_uuids(static_cast<int>(rank)));
    }
    if (gpu == nullptr) gpu = FindGpu(inventory, indices[rank % each]);
    if (gpu == nullptr) return {};
    gpus.push_back(gpu);
  }
  return gpus;
}

// Returns "none", "single", "nvlink" if every pair of the GPUs has NVLink, "pcie" or "network".
std::string TopologyOf(const LeasedJob& job, const v1::NodeInventory& inventory) {
  if (job.job.resource == v1::RESOURCE_KIND_NETWORK || job.node_ids.size() > 1) return "network";
  const std::set<int> gpus(job.job.gpu_indices.begin(), job.job.gpu_indices.end());
  if (gpus.size() < 2) return gpus.empty() ? "none" : "single";
  const auto& links = inventory.gpu_links();
  const auto nvlinks = std::count_if(links.begin(), links.end(), [&](const v1::GpuLink& link) {
    return gpus.contains(link.gpu_a()) && gpus.contains(link.gpu_b()) &&
           link.kind().starts_with("NV");
  });
  const size_t pairs = gpus.size() * (gpus.size() - 1) / 2;
  return static_cast<size_t>(nvlinks) == pairs ? "nvlink" : "pcie";
}

std::string ModelOf(const v1::GpuInventory& gpu) {
  return gpu.form_factor().empty() ? gpu.model() : gpu.model() + " " + gpu.form_factor();
}

void SetGpus(const std::vector<const v1::GpuInventory*>& gpus, v1::CaseResult* result) {
  v1::Environment& environment = *result->mutable_environment();
  v1::Provenance& provenance = *result->mutable_provenance();
  provenance.clear_gpu_uuids();
  provenance.clear_gpu_models();
  std::set<std::string> models;
  for (const v1::GpuInventory* gpu : gpus) models.insert(ModelOf(*gpu));
  if (std::all_of(gpus.begin(), gpus.end(), [](const auto* gpu) { return !gpu->uuid().empty(); })) {
    for (const v1::GpuInventory* gpu : gpus) provenance.add_gpu_uuids(gpu->uuid());
  }
  if (models.size() == 1) {
    environment.set_gpu_model(gpus.front()->model());
    environment.set_gpu_form_factor(gpus.front()->form_factor());
    return;
  }
  environment.set_gpu_model(Join({models.begin(), models.end()}, " + "));
  environment.clear_gpu_form_factor();
  environment.clear_mig_profile();
  for (const v1::GpuInventory* gpu : gpus) provenance.add_gpu_models(ModelOf(*gpu));
}

void SetEnvironment(const LeasedJob& job, const JobNodes& nodes, const v1::NodeInventory& inventory,
                    v1::CaseResult* result) {
  v1::Environment& environment = *result->mutable_environment();
  const bool on_gpus = !job.job.gpu_indices.empty();
  environment.set_gpu_count(on_gpus ? job.job.world_size : 0);
  environment.set_topology(TopologyOf(job, inventory));
  environment.set_cpu_model(inventory.cpu().model());
  environment.set_node_count(static_cast<int>(std::max<size_t>(1, job.node_ids.size())));
  if (on_gpus) {
    if (inventory.has_driver_version()) environment.set_driver_version(inventory.driver_version());
    const std::vector<const v1::GpuInventory*> gpus = GpusOf(job, nodes, result->provenance());
    if (!gpus.empty()) SetGpus(gpus, result);
    return;
  }
  environment.clear_driver_version();
  environment.clear_gpu_model();
  environment.clear_gpu_form_factor();
  environment.clear_mig_profile();
  result->mutable_provenance()->clear_gpu_uuids();
  result->mutable_provenance()->clear_gpu_models();
}

void SetProvenance(const LeasedJob& job, const JobNodes& nodes, const v1::NodeDescription& sender,
                   v1::Provenance* provenance) {
  provenance->clear_node_ids();
  provenance->clear_node_names();
  for (const std::string& node_id : job.node_ids) provenance->add_node_ids(node_id);
  for (const auto& node : nodes) provenance->add_node_names(node->name());
  provenance->set_provider(sender.provider());
  provenance->set_region(sender.region());
  provenance->clear_price_per_hour();
  if (sender.has_price_per_hour()) provenance->set_price_per_hour(sender.price_per_hour());
  provenance->set_kernel(sender.inventory().kernel());
  provenance->set_agent_version(sender.agent_version());
  provenance->set_agent_instance_id(sender.agent_instance_id());
  provenance->set_simulated(sender.inventory().simulated());
  provenance->clear_imported_from();
  *provenance->mutable_labels() = sender.labels();
}

google::protobuf::Timestamp Within(const google::protobuf::Timestamp& time, WallTime first,
                                   WallTime last) {
  return schema::ToTimestamp(std::clamp(schema::FromTimestamp(time), first, last));
}

// Returns the median of the metric "time" in seconds; 0 if the result has none.
double SecondsOf(const v1::CaseResult& result) {
  for (const v1::Measurement& one : result.measurements()) {
    if (one.metric() != "time") continue;
    return one.median() * campaign::UnitFactor(one.unit(), "s").value_or(0);
  }
  return 0;
}

}  // namespace

std::string WhyOtherMetrics(const v1::Schemas& schemas, const v1::CaseResult& result) {
  const auto& benchmarks = schemas.benchmarks();
  const auto schema = std::find_if(benchmarks.begin(), benchmarks.end(), [&](const auto& own) {
    return own.name() == result.benchmark() && own.version() == result.benchmark_version();
  });
  if (schema == benchmarks.end()) {
    return fmt::format("its node does not have {} version {}", Cut(result.benchmark()),
                       result.benchmark_version());
  }
  for (const v1::Measurement& one : result.measurements()) {
    const bool declared = std::any_of(
        schema->metrics().begin(), schema->metrics().end(), [&](const v1::MetricSchema& metric) {
          return metric.name() == one.metric() && metric.unit() == one.unit() &&
                 metric.direction() == one.direction();
        });
    if (!declared) {
      return fmt::format("{} has no metric {} in {}", Cut(result.benchmark()), Quote(one.metric()),
                         Quote(one.unit()));
    }
  }
  return "";
}

std::string WhyImpossible(const v1::CaseResult& result) {
  const v1::Prediction& prediction = result.prediction();
  const v1::LinkModel& model = prediction.link_model();
  for (const double number :
       {prediction.flops(), prediction.bytes(), prediction.arithmetic_intensity(),
        prediction.predicted_seconds(), prediction.efficiency_spec(),
        prediction.efficiency_measured(), prediction.efficiency_clock(), prediction.ridge_point(),
        prediction.ridge_measured(), model.predicted_seconds(), model.latency_seconds(),
        model.bandwidth(), model.knee_bytes(), model.error()}) {
    if (!std::isfinite(number) || number < 0) return "a number of its prediction is impossible";
  }
  if (!prediction.has_efficiency_spec()) return "";
  // The efficiency is the ideal time, according to the spec sheet, divided by the measured time.
  // Use it to compute the ideal time. The predicted time cannot be shorter than the ideal time,
  // because it also includes the fixed cost of an iteration.
  const double seconds = SecondsOf(result);
  const double allowed = prediction.efficiency_spec() * seconds;
  if (seconds <= 0 || allowed > prediction.predicted_seconds() * kRounding) {
    return "its efficiency does not follow from its predicted and measured times";
  }
  return "";
}

void SetFacts(const LeasedJob& job, const JobNodes& nodes, const v1::NodeDescription& sender,
              WallTime now, v1::CaseResult* result) {
  SetProvenance(job, nodes, sender, result->mutable_provenance());
  SetEnvironment(job, nodes, sender.inventory(), result);
  // The clock of the database, which noted the start, may be ahead of this one.
  const WallTime last = std::max(job.start_time, now);
  if (result->has_start_time()) {
    *result->mutable_start_time() = Within(result->start_time(), job.start_time, last);
  }
  if (result->has_end_time()) {
    *result->mutable_end_time() = Within(result->end_time(), job.start_time, last);
  }
}

}  // namespace assay::coordinator
