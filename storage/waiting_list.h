// What queued jobs wait for, merged. Shared by every JobStore.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::storage {

class WaitingList {
 public:
  // `jobs` queued jobs have `absent` among their candidates and need `needed` of them.
  void Add(int jobs, int needed, std::vector<v1::AbsentNode> absent);

  // One message for each set of nodes: most jobs first, then by name.
  std::vector<v1::WaitingJobs> Take() &&;

 private:
  std::map<std::pair<std::vector<std::string>, int>, v1::WaitingJobs> by_nodes_;
};

}  // namespace assay::storage
