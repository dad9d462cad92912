// Sorts stored runs into histories, the form in which analyses take them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// The runs of one case at one place (the same GPUs or nodes), oldest first. Contains pointers into
// the Runs from which it was built.
struct History {
  v1::CaseIdentity identity;
  std::string place_key;  // See storage::PlaceKey.
  v1::Place place;        // Without GPU indices.
  std::string node_id;    // Of the first node.
  std::vector<const storage::Run*> runs;
  // The runs that analyses use, and the logarithms of their performance, higher being better.
  std::vector<const storage::Run*> used;
  std::vector<double> values;
};

// Returns the logarithm of a median, negated if lower medians are better, so that higher is always
// better.
double LogPerformance(const v1::CaseIdentity& identity, double median);

v1::Place PlaceOf(const storage::RunOrigin& origin);

// Returns one history for each lineage and place, sorted by lineage and place.
std::vector<History> SortIntoHistories(const storage::Runs& runs);

// Returns the median uncertainty of the runs, as a fraction; 0 if it is unknown.
double NoiseOf(const std::vector<History>& histories);

// Returns the median over places of the medians of their runs, in the metric's unit.
double MedianOverPlaces(const std::vector<const History*>& histories);

const std::string& DriverOf(const storage::Runs& runs, const storage::Run& run);

}  // namespace assay::coordinator
