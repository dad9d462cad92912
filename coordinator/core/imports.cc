#include "coordinator/core/imports.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/digest.h"
#include "wire/import_rules.h"

namespace assay::coordinator {
namespace {

v1::Environment EnvironmentOf(const v1::Environment& sent) {
  v1::Environment environment;
  environment.set_gpu_model(sent.gpu_model());
  environment.set_gpu_form_factor(sent.gpu_form_factor());
  environment.set_mig_profile(sent.mig_profile());
  environment.set_gpu_count(sent.gpu_count());
  environment.set_topology(sent.topology());
  environment.set_cpu_model(sent.cpu_model());
  environment.set_node_count(sent.node_count());
  if (sent.has_driver_version()) environment.set_driver_version(sent.driver_version());
  if (sent.software().has_cuda_runtime()) {
    environment.mutable_software()->set_cuda_runtime(sent.software().cuda_runtime());
  }
  if (sent.software().has_nccl()) {
    environment.mutable_software()->set_nccl(sent.software().nccl());
  }
  return environment;
}

// What of it is kept.
v1::CaseResult ResultOf(const v1::CaseResult& sent) {
  v1::CaseResult result;
  result.set_epoch(1);
  result.set_outcome(sent.outcome());
  if (sent.outcome() == v1::CASE_OUTCOME_FAILED) {
    result.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
    result.mutable_failure()->set_reason(sent.failure().reason());
    result.mutable_failure()->set_message(sent.failure().message());
  }
  *result.mutable_parameters() = sent.parameters();
  result.set_benchmark(sent.benchmark());
  result.set_benchmark_version(sent.benchmark_version());
  *result.mutable_measurements() = sent.measurements();
  for (v1::Measurement& measurement : *result.mutable_measurements()) measurement.clear_samples();
  if (sent.has_verification()) *result.mutable_verification() = sent.verification();
  if (!sent.conditions().flags().empty()) {
    *result.mutable_conditions()->mutable_flags() = sent.conditions().flags();
  }
  if (sent.has_start_time()) *result.mutable_start_time() = sent.start_time();
  if (sent.has_end_time()) *result.mutable_end_time() = sent.end_time();
  return result;
}

}  // namespace

Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request,
                                                     WallTime now) {
  ASSAY_RETURN_IF_ERROR(schema::CheckImport(request, now));
  storage::ImportedCampaign imported;
  storage::NewCampaign& campaign = imported.campaign;
  campaign.campaign_id = NewUuid();
  campaign.request_id = request.request_id();
  campaign.spec.set_name(request.name());
  const v1::Environment environment = EnvironmentOf(request.environment());
  v1::Provenance provenance;
  provenance.set_imported_from(request.provenance().imported_from());
  *provenance.mutable_node_names() = request.provenance().node_names();
  std::map<std::pair<std::string, int>, size_t> jobs;  // By benchmark and version.
  for (const v1::CaseResult& sent : request.results()) {
    const auto [known, added] =
        jobs.try_emplace({sent.benchmark(), sent.benchmark_version()}, campaign.jobs.size());
    if (added) {
      storage::NewJob& job = campaign.jobs.emplace_back();
      job.job_id = NewUuid();
      job.benchmark = sent.benchmark();
      job.benchmark_version = sent.benchmark_version();
      job.resource = v1::RESOURCE_KIND_GPU;
      job.world_size = std::max(1, environment.gpu_count());
      job.node_count = std::max(1, environment.node_count());
      job.repetition = 1;
    }
    storage::NewJob& job = campaign.jobs[known->second];
    v1::BenchmarkCase& one = job.cases.emplace_back();
    one.set_case_index(static_cast<int>(job.cases.size()) - 1);
    *one.mutable_parameters() = sent.parameters();
    v1::CaseResult& result = imported.results.emplace_back(ResultOf(sent));
    result.set_job_id(job.job_id);
    result.set_case_index(one.case_index());
    *result.mutable_environment() = environment;
    *result.mutable_provenance() = provenance;
  }
  return imported;
}

}  // namespace assay::coordinator
