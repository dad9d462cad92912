#include "storage/placement.h"

#include <algorithm>

namespace assay::storage {

bool HoldsWholeNodes(const NewJob& job) { return job.exclusive_node || job.gpu_indices.empty(); }

std::optional<std::vector<std::string>> ChooseNodes(
    const NewJob& job, const std::vector<std::string>& avoid,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free) {
  std::vector<std::string> candidates;
  std::vector<std::string> preferred;
  for (const std::string& node : job.candidate_node_ids) {
    if (!reachable(node)) continue;
    candidates.push_back(node);
    if (std::find(avoid.begin(), avoid.end(), node) == avoid.end()) preferred.push_back(node);
  }
  const auto needed = static_cast<size_t>(std::max(job.node_count, 1));
  if (preferred.size() >= needed) candidates = std::move(preferred);
  std::vector<std::string> chosen;
  for (const std::string& node : candidates) {
    if (chosen.size() == needed) break;
    if (is_free(node)) chosen.push_back(node);
  }
  if (chosen.size() < needed) return std::nullopt;
  return chosen;
}

}  // namespace assay::storage
