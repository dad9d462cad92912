#include "coordinator/core/judging/records.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/digest.h"
#include "wire/timestamps.h"

namespace assay::coordinator {

using storage::Run;
using storage::Runs;

std::vector<analysis::Step> StepsOf(const Runs& runs, const History& history) {
  const std::string seed =
      Sha256Hex(history.identity.lineage_id() + "/" + history.place_key).substr(0, 16);
  std::vector<analysis::Step> steps =
      analysis::FindSteps(history.values, {}, std::stoull(seed, nullptr, 16));
  const auto changes_driver = [&](size_t i) {
    return i > 0 && i < history.used.size() &&
           DriverOf(runs, *history.used[i - 1]) != DriverOf(runs, *history.used[i]);
  };
  for (analysis::Step& step : steps) {
    for (size_t distance = 0; distance < analysis::kSegmentRuns; ++distance) {
      const size_t earlier = step.first - std::min(step.first, distance);
      const size_t found = changes_driver(earlier) ? earlier : step.first + distance;
      if (!changes_driver(found)) continue;
      step.first = found;
      break;
    }
  }
  return steps;
}

v1::HistoryStep StepMessage(const Runs& runs, const History& history, const analysis::Step& step) {
  const bool lower = history.identity.direction() == v1::DIRECTION_LOWER_IS_BETTER;
  const Run& first = *history.used[step.first];
  v1::HistoryStep message;
  *message.mutable_time() = schema::ToTimestamp(first.end_time);
  message.set_ratio(std::exp(step.change()));
  message.set_median_before(std::exp(lower ? -step.before : step.before));
  message.set_median_after(std::exp(lower ? -step.after : step.after));
  message.set_driver_after(DriverOf(runs, first));
  if (step.first > 0) message.set_driver_before(DriverOf(runs, *history.used[step.first - 1]));
  return message;
}

std::string CaseText(const v1::CaseIdentity& identity) {
  std::string text;
  const std::map<std::string, std::string> sorted(identity.parameters().begin(),
                                                  identity.parameters().end());
  for (const auto& [name, value] : sorted) text += name + "=" + value + " ";
  return text + identity.lineage_id();
}

std::string RecordId(std::string_view text) {
  const std::string hex = Sha256Hex(text);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(13, 3) + "-8" +
         hex.substr(17, 3) + "-" + hex.substr(20, 12);
}

Result<PlaceIndices> PlaceIndices::Read(const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      environment.nodes.ListNodes(Duration::max(), storage::NodeStore::Benchmarks::kNo));
  PlaceIndices read;
  for (const v1::Node& node : nodes) {
    for (const v1::GpuInventory& gpu : node.description().inventory().gpus()) {
      read.indices_[gpu.uuid()] = gpu.index();
    }
  }
  return read;
}

void PlaceIndices::Complete(v1::Place& place) const {
  place.clear_gpu_indices();
  for (const std::string& uuid : place.gpu_uuids()) {
    const auto known = indices_.find(uuid);
    if (known == indices_.end()) return place.clear_gpu_indices();
    place.add_gpu_indices(known->second);
  }
}

}  // namespace assay::coordinator
