// Groups queued jobs by the nodes that they wait for. Shared by every JobStore.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::storage {

class WaitingList {
 public:
  // Adds `jobs` queued jobs that need `needed` of the absent candidates `absent`.
  void Add(int jobs, int needed, std::vector<v1::AbsentNode> absent);

  // Returns one message per set of nodes: most jobs first, then by name.
  std::vector<v1::WaitingJobs> Take() &&;

 private:
  std::map<std::pair<std::vector<std::string>, int>, v1::WaitingJobs> by_nodes_;
};

}  // namespace assay::storage
