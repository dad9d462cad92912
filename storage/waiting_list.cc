#include "storage/waiting_list.h"

#include <algorithm>
#include <tuple>

namespace assay::storage {

void WaitingList::Add(int jobs, int needed, std::vector<v1::AbsentNode> absent) {
  std::sort(absent.begin(), absent.end(), [](const v1::AbsentNode& a, const v1::AbsentNode& b) {
    return std::tie(a.name(), a.node_id()) < std::tie(b.name(), b.node_id());
  });
  std::vector<std::string> names;
  for (const v1::AbsentNode& node : absent) names.push_back(node.name());
  v1::WaitingJobs& waiting = by_nodes_[{std::move(names), needed}];
  if (waiting.jobs() == 0) {
    waiting.set_needed(needed);
    for (v1::AbsentNode& node : absent) *waiting.add_nodes() = std::move(node);
  }
  waiting.set_jobs(waiting.jobs() + jobs);
}

std::vector<v1::WaitingJobs> WaitingList::Take() && {
  std::vector<v1::WaitingJobs> all;
  for (auto& [key, waiting] : by_nodes_) all.push_back(std::move(waiting));
  std::stable_sort(all.begin(), all.end(), [](const v1::WaitingJobs& a, const v1::WaitingJobs& b) {
    return a.jobs() > b.jobs();
  });
  return all;
}

}  // namespace assay::storage
