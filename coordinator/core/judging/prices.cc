#include "coordinator/core/judging/prices.h"

#include <algorithm>
#include <vector>

namespace assay::coordinator {

Result<Prices> Prices::Read(const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      environment.nodes.ListNodes(Duration::max(), storage::NodeStore::Benchmarks::kNo));
  Prices prices;
  for (const v1::Node& node : nodes) {
    prices.gpus_[node.description().node_id()] = node.description().inventory().gpus_size();
  }
  return prices;
}

std::optional<double> Prices::PerHour(const v1::CaseIdentity& identity,
                                      const storage::RunOrigin& origin) const {
  if (!origin.price_per_hour || *origin.price_per_hour <= 0 || origin.node_ids.empty()) {
    return std::nullopt;
  }
  const int used = identity.hardware().gpu_count();
  const auto nodes = static_cast<double>(std::max(1, identity.hardware().node_count()));
  if (used == 0) return *origin.price_per_hour * nodes;
  const auto known = gpus_.find(origin.node_ids.front());
  if (known == gpus_.end() || known->second == 0) return std::nullopt;
  return *origin.price_per_hour * used / known->second;
}

}  // namespace assay::coordinator
