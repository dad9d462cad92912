#include "storage/placement.h"

#include <algorithm>

namespace assay::storage {
namespace {

using Predicate = std::function<bool(const std::string&)>;

size_t Needed(const NewJob& job) { return static_cast<size_t>(std::max(job.node_count, 1)); }

// Returns the reachable candidates, or only the preferred ones if there are enough of them.
std::vector<std::string> Reachable(const NewJob& job, const Preference& preference,
                                   const Predicate& reachable) {
  const auto has = [](const std::vector<std::string>& nodes, const std::string& node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  };
  std::vector<std::string> candidates;
  std::vector<std::string> preferred;
  for (const std::string& node : job.candidate_node_ids) {
    if (!reachable(node)) continue;
    candidates.push_back(node);
    if (has(preference.avoid, node)) continue;
    if (preference.only.empty() || has(preference.only, node)) preferred.push_back(node);
  }
  return preferred.size() >= Needed(job) ? preferred : candidates;
}

}  // namespace

bool HoldsWholeNodes(const NewJob& job) { return job.exclusive_node || job.gpu_indices.empty(); }

std::optional<std::vector<std::string>> ChooseNodes(const NewJob& job, const Preference& preference,
                                                    const Predicate& reachable,
                                                    const Predicate& is_free) {
  std::vector<std::string> chosen;
  for (const std::string& node : Reachable(job, preference, reachable)) {
    if (chosen.size() == Needed(job)) break;
    if (is_free(node)) chosen.push_back(node);
  }
  if (chosen.size() < Needed(job)) return std::nullopt;
  return chosen;
}

std::optional<std::vector<std::string>> NodesToReserve(const NewJob& job,
                                                       const Preference& preference,
                                                       const Predicate& reachable,
                                                       const Predicate& is_free) {
  std::vector<std::string> nodes = Reachable(job, preference, reachable);
  if (nodes.size() < Needed(job)) return std::nullopt;
  std::stable_partition(nodes.begin(), nodes.end(), is_free);
  nodes.resize(Needed(job));
  return nodes;
}

}  // namespace assay::storage
