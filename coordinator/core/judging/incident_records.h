// Keeps the records of incidents. An incident is a group of regressions with a common cause.
#pragma once

#include <string>
#include <vector>

#include "analysis/incidents.h"
#include "assay/v1/analysis.pb.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// Returns the regressions of all pages.
Result<std::vector<v1::Regression>> AllRegressions(storage::AnalysisStore& store,
                                                   const storage::RegressionQuery& query);

// An incident, and the indices of its open regressions.
struct IncidentMembers {
  std::string incident_id;
  analysis::IncidentGroup group;
};

// Groups open regressions by common cause into incidents, and sets their incident_id. An incident
// keeps its id as long as it has an open regression.
std::vector<IncidentMembers> GroupRegressions(std::vector<v1::Regression>& open);

// Adds incidents to `findings` if their records have changed. Closes incidents once all of their
// regressions are closed. Some regressions in `open` may have been closed after they were grouped.
Status AddIncidents(storage::AnalysisStore& store, const std::vector<IncidentMembers>& incidents,
                    const std::vector<v1::Regression>& open, storage::Findings& findings);

}  // namespace assay::coordinator
