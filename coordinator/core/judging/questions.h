// Answers questions across runs: comparisons, histories, costs and baselines.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// The queries that examine large numbers of runs. Thread-safe. Calls block on the database and may
// take seconds.
class Questions {
 public:
  // The environment must outlive this object.
  explicit Questions(const Environment& environment) : environment_(environment) {}

  Result<v1::CompareResultsResponse> Compare(const v1::CompareResultsRequest& request) const;
  Result<v1::GetHistoryResponse> GetHistory(const v1::GetHistoryRequest& request) const;
  Result<v1::GetCostsResponse> GetCosts(const v1::GetCostsRequest& request) const;
  // Makes a baseline from the runs that match the request's filter, and stores it.
  Result<v1::Baseline> CreateBaseline(const v1::CreateBaselineRequest& request,
                                      const std::string& created_by) const;

 private:
  const Environment& environment_;
};

}  // namespace assay::coordinator
