#include "storage/import.h"

#include <set>
#include <string>
#include <utility>

namespace assay::storage {

Status CheckImport(const ImportedCampaign& imported) {
  if (imported.campaign.jobs.empty()) return InvalidArgument("a campaign needs at least one job");
  std::set<std::pair<std::string, int>> open;
  for (const NewJob& job : imported.campaign.jobs) {
    for (size_t i = 0; i < job.cases.size(); ++i) open.emplace(job.job_id, static_cast<int>(i));
  }
  for (const v1::CaseResult& result : imported.results) {
    if (open.erase({result.job_id(), result.case_index()}) == 0 || result.epoch() != 1) {
      return InvalidArgument("an imported result is of no case, or a case has two");
    }
  }
  if (open.empty()) return Status::Ok();
  return InvalidArgument(std::to_string(open.size()) + " imported cases have no result");
}

std::optional<v1::Failure> FailureOf(const ImportedCampaign& imported, const NewJob& job) {
  int failed = 0;
  for (const v1::CaseResult& result : imported.results) {
    const bool mine = result.job_id() == job.job_id;
    failed += mine && result.outcome() == v1::CASE_OUTCOME_FAILED ? 1 : 0;
  }
  if (failed == 0) return std::nullopt;
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_JOB);
  failure.set_reason(v1::REASON_CASE_FAILED);
  failure.set_message(std::to_string(failed) + " of " + std::to_string(job.cases.size()) +
                      " cases failed");
  return failure;
}

}  // namespace assay::storage
