#include "coordinator/core/judging/histories.h"

#include <cmath>
#include <map>
#include <utility>

#include "analysis/statistics.h"
#include "storage/analysis_rules.h"

namespace assay::coordinator {

using storage::Run;
using storage::RunOrigin;
using storage::Runs;

double LogPerformance(const v1::CaseIdentity& identity, double median) {
  const double log = std::log(median);
  return identity.direction() == v1::DIRECTION_LOWER_IS_BETTER ? -log : log;
}

v1::Place PlaceOf(const RunOrigin& origin) {
  v1::Place place;
  place.mutable_node_names()->Assign(origin.node_names.begin(), origin.node_names.end());
  place.mutable_gpu_uuids()->Assign(origin.gpu_uuids.begin(), origin.gpu_uuids.end());
  return place;
}

std::vector<History> SortIntoHistories(const Runs& runs) {
  std::map<std::pair<std::string, std::string>, History> sorted;  // By lineage and place.
  std::vector<std::string> keys;
  for (const RunOrigin& origin : runs.origins)
    keys.push_back(storage::PlaceKey(origin.node_names, origin.gpu_uuids));
  for (const Run& run : runs.runs) {
    const v1::CaseIdentity& identity = runs.series[run.series].identity;
    History& history = sorted[{identity.lineage_id(), keys[run.origin]}];
    if (history.runs.empty()) {
      const RunOrigin& origin = runs.origins[run.origin];
      history.identity = identity;
      history.place_key = keys[run.origin];
      history.place = PlaceOf(origin);
      if (!origin.node_ids.empty()) history.node_id = origin.node_ids.front();
    }
    history.runs.push_back(&run);
    if (run.excluded || !(run.median > 0) || !std::isfinite(run.median)) continue;
    history.used.push_back(&run);
    history.values.push_back(LogPerformance(identity, run.median));
  }
  std::vector<History> histories;
  histories.reserve(sorted.size());
  for (auto& [key, history] : sorted) histories.push_back(std::move(history));
  return histories;
}

double NoiseOf(const std::vector<History>& histories) {
  std::vector<double> known;
  for (const History& history : histories) {
    for (const Run* run : history.used) {
      if (run->uncertainty) known.push_back(*run->uncertainty);
    }
  }
  return analysis::MedianOf(std::move(known));
}

double MedianOverPlaces(const std::vector<const History*>& histories) {
  std::vector<double> of_places;
  for (const History* history : histories) {
    std::vector<double> medians;
    for (const Run* run : history->used) medians.push_back(run->median);
    if (!medians.empty()) of_places.push_back(analysis::MedianOf(std::move(medians)));
  }
  return analysis::MedianOf(std::move(of_places));
}

const std::string& DriverOf(const Runs& runs, const Run& run) {
  return runs.series[run.series].environment.driver_version();
}

}  // namespace assay::coordinator
