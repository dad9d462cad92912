// Implements AnalysisStore in PostgreSQL. Each function implements the method of the same name.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/analysis_store.h"
#include "storage/postgres/pool.h"

namespace assay::storage {

Result<Runs> ListRuns(Pool& pool, const std::string& filter);
Result<Runs> ListRunsOfLineage(Pool& pool, const std::string& lineage_id, int per_place);
// `overlap`: see MakeAnalysisStore.
Result<ChangedLineages> ListChangedLineages(Pool& pool, const std::string& cursor,
                                            Duration overlap);

Result<JudgeState> GetJudgeState(Pool& pool);
Status PutFindings(Pool& pool, const Findings& findings, int64_t term);
Result<Page<v1::Regression>> ListRegressions(Pool& pool, const RegressionQuery& query,
                                             const PageRequest& request);
Result<std::vector<PlaceRegressions>> CountOpenRegressions(Pool& pool, int limit);
Result<FindingCounts> CountFindings(Pool& pool, int limit);
Result<std::vector<v1::Incident>> ListIncidents(Pool& pool, const RegressionQuery& query);
Result<v1::ListOutliersResponse> ListOutliers(Pool& pool, const v1::ListOutliersRequest& request);
Result<int> Acknowledge(Pool& pool, const std::string& id, const std::string& by,
                        const std::string& note, bool false_alarm);

Status PutBaseline(Pool& pool, const v1::Baseline& baseline);
Result<std::vector<v1::Baseline>> ListBaselines(Pool& pool);
Result<v1::Baseline> GetBaseline(Pool& pool, const std::string& name);
Status PutAnnotation(Pool& pool, const v1::Annotation& annotation);
Result<std::vector<v1::Annotation>> ListAnnotations(Pool& pool, WallTime from, WallTime to);

}  // namespace assay::storage
