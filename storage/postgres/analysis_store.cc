#include "storage/analysis_store.h"

#include <memory>

#include "storage/postgres/analysis_queries.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

class PostgresAnalysisStore : public AnalysisStore {
 public:
  PostgresAnalysisStore(Pool& pool, Pool& queries, Duration overlap)
      : pool_(pool), queries_(queries), overlap_(overlap) {}

  Result<Runs> ListRuns(const std::string& filter) override {
    return storage::ListRuns(queries_, filter);
  }
  Result<Runs> ListRunsOfLineage(const std::string& lineage_id, int per_place) override {
    return storage::ListRunsOfLineage(pool_, lineage_id, per_place);
  }
  Result<ChangedLineages> ListChangedLineages(const std::string& cursor) override {
    return storage::ListChangedLineages(pool_, cursor, overlap_);
  }
  Result<JudgeState> GetJudgeState() override { return storage::GetJudgeState(pool_); }
  Status PutFindings(const Findings& findings, int64_t term) override {
    return storage::PutFindings(pool_, findings, term);
  }
  Result<Page<v1::Regression>> ListRegressions(const RegressionQuery& query,
                                               const PageRequest& page) override {
    return storage::ListRegressions(pool_, query, page);
  }
  Result<std::vector<PlaceRegressions>> CountOpenRegressions(int limit) override {
    return storage::CountOpenRegressions(pool_, limit);
  }
  Result<FindingCounts> CountFindings(int limit) override {
    return storage::CountFindings(pool_, limit);
  }
  Result<std::vector<v1::Incident>> ListIncidents(const RegressionQuery& query) override {
    return storage::ListIncidents(pool_, query);
  }
  Result<v1::ListOutliersResponse> ListOutliers(const v1::ListOutliersRequest& request) override {
    return storage::ListOutliers(pool_, request);
  }
  Result<int> Acknowledge(const std::string& id, const std::string& by, const std::string& note,
                          bool false_alarm) override {
    return storage::Acknowledge(pool_, id, by, note, false_alarm);
  }
  Status PutBaseline(const v1::Baseline& baseline) override {
    return storage::PutBaseline(pool_, baseline);
  }
  Result<std::vector<v1::Baseline>> ListBaselines() override {
    return storage::ListBaselines(pool_);
  }
  Result<v1::Baseline> GetBaseline(const std::string& name) override {
    return storage::GetBaseline(pool_, name);
  }
  Status PutAnnotation(const v1::Annotation& annotation) override {
    return storage::PutAnnotation(pool_, annotation);
  }
  Result<std::vector<v1::Annotation>> ListAnnotations(WallTime from, WallTime to) override {
    return storage::ListAnnotations(pool_, from, to);
  }

 private:
  Pool& pool_;
  Pool& queries_;
  const Duration overlap_;
};

}  // namespace

std::unique_ptr<AnalysisStore> MakeAnalysisStore(Pool& pool, Pool& queries, Duration overlap) {
  return std::make_unique<PostgresAnalysisStore>(pool, queries, overlap);
}

}  // namespace assay::storage
