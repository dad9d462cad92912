// Keeps the records of incidents: regressions with a shared cause.
#pragma once

#include <string>
#include <vector>

#include "analysis/incidents.h"
#include "assay/v1/analysis.pb.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// Reads all pages.
Result<std::vector<v1::Regression>> AllRegressions(storage::AnalysisStore& store,
                                                   const storage::RegressionQuery& query);

// An incident, and the indices of its open regressions.
struct IncidentMembers {
  std::string incident_id;
  analysis::IncidentGroup group;
};

// Groups open regressions by cause, and sets their incident_id. An incident keeps its id while it
// has an open regression.
std::vector<IncidentMembers> GroupRegressions(std::vector<v1::Regression>& open);

// Adds the incidents of open regressions to `findings` if their records have changed, and closes
// incidents that have no open regression any more. Some of `open` may have been closed meanwhile.
Status AddIncidents(storage::AnalysisStore& store, const std::vector<IncidentMembers>& incidents,
                    const std::vector<v1::Regression>& open, storage::Findings& findings);

}  // namespace assay::coordinator
