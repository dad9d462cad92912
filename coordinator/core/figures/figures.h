// Provides the data for figures and large tables: columns of results, rooflines, comparisons of
// pairs of nodes or GPUs, and the progress of campaigns.
#pragma once

#include <string>

#include "assay/v1/analysis_service.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// The queries for figures and large tables. Thread-safe. Calls block on the database and may take a
// second.
class Figures {
 public:
  // Both arguments must outlive this object.
  Figures(const Environment& environment, const RunningJobs& running)
      : environment_(environment), running_(running) {}

  Result<v1::TabulateResultsResponse> Tabulate(const v1::TabulateResultsRequest& request) const;
  Result<v1::ListFacetsResponse> ListFacets(const v1::ListFacetsRequest& request) const;
  Result<v1::GetRooflineResponse> GetRoofline(const v1::GetRooflineRequest& request) const;
  Result<v1::GetPairsResponse> GetPairs(const v1::GetPairsRequest& request) const;
  Result<v1::GetCampaignProgressResponse> GetProgress(const std::string& campaign) const;

 private:
  const Environment& environment_;
  const RunningJobs& running_;
};

}  // namespace assay::coordinator
