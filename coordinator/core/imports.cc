#include "coordinator/core/imports.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/uuid.h"
#include "wire/import_rules.h"

namespace assay::coordinator {
namespace {

// The part of `sent` that an import may set.
v1::CaseResult ResultOf(const v1::CaseResult& sent, const v1::ImportResultsRequest& request) {
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
  *result.mutable_environment() = request.environment();
  result.mutable_provenance()->set_imported_from(request.provenance().imported_from());
  *result.mutable_provenance()->mutable_node_names() = request.provenance().node_names();
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
      job.world_size = std::max(1, request.environment().gpu_count());
      job.node_count = std::max(1, request.environment().node_count());
      job.repetition = 1;
    }
    storage::NewJob& job = campaign.jobs[known->second];
    v1::BenchmarkCase& one = job.cases.emplace_back();
    one.set_case_index(static_cast<int>(job.cases.size()) - 1);
    *one.mutable_parameters() = sent.parameters();
    v1::CaseResult& result = imported.results.emplace_back(ResultOf(sent, request));
    result.set_job_id(job.job_id);
    result.set_case_index(one.case_index());
  }
  return imported;
}

}  // namespace assay::coordinator
