// Estimates how long a campaign takes, and what that costs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "campaign/expand.h"
#include "coordinator/core/environment.h"
#include "storage/work_store.h"

namespace assay::coordinator {

// Estimates how long cases (single measurements) take, based on earlier results of the same cases.
// If there are none, uses the measuring method's time limit, which few cases exceed. Thread-safe.
// Blocks on the database, so do not call this on threads that renew leases.
class Estimator {
 public:
  // The mean time of a case (a single measurement) for each kind of work, and the price of each
  // node. Both stay fixed while a campaign runs.
  struct Costs {
    struct Case {
      double seconds = 0;       // Mean of the cases of this kind.
      double from_history = 0;  // Share of the cases whose time comes from history.
    };
    struct Node {
      std::string name;
      std::optional<double> price_per_hour;
    };
    std::map<storage::Work::Kind, Case> cases;
    std::map<std::string, Node> nodes;  // By id.
  };

  // Both arguments must outlive the estimator.
  Estimator(const Environment& environment, const Options& options)
      : environment_(environment), options_(options) {}

  // Estimates a campaign that was expanded for `fleet`.
  Result<v1::Estimate> OfExpansion(const campaign::Expansion& expansion, v1::Effort effort,
                                   const std::vector<v1::Node>& fleet) const;

  // Returns the costs that OfRest needs for a campaign that exists already.
  Result<Costs> CostsOf(const std::string& campaign_id, v1::Effort effort) const;
  // Estimates the remaining work of the campaign. `costs` must come from CostsOf.
  Result<v1::Estimate> OfRest(const std::string& campaign_id, const Costs& costs) const;

 private:
  Result<std::map<storage::Work::Kind, Costs::Case>> CostsOfKinds(
      const std::vector<storage::KindOfWork>& kinds, v1::Effort effort) const;

  const Environment& environment_;
  const Options& options_;
};

}  // namespace assay::coordinator
