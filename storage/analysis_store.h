// Reads runs for analyses, and stores what these find. Implementations must pass
// tests/contract/analysis_runs_contract.h and analysis_store_contract.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "assay/v1/analysis_service.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// One stored result with outcome OK, with what analyses need of it.
struct Run {
  size_t series = 0;  // Index in Runs::series.
  size_t origin = 0;  // Index in Runs::origins.
  WallTime end_time{};
  double median = 0;
  std::optional<double> uncertainty;  // Half of the confidence interval, over the median.
  // Has one of the flags in kExcludingFlags, so the run says little about the hardware.
  bool excluded = false;
  std::vector<std::string> flags;
  std::optional<double> efficiency_spec;
  std::string result_id;
};

// Properties that all runs of a series share.
struct RunSeries {
  v1::CaseIdentity identity;
  // With the versions of drivers and libraries.
  v1::Environment environment;
};

// The hardware and software that runs come from.
struct RunOrigin {
  std::vector<std::string> node_ids;
  std::vector<std::string> node_names;
  std::vector<std::string> gpu_uuids;
  std::string provider;
  std::optional<double> price_per_hour;  // Of the node.
  std::string agent_version;
};

struct Runs {
  std::vector<RunSeries> series;
  std::vector<RunOrigin> origins;
  std::vector<Run> runs;  // Oldest first, by end_time.
  // Number of results that matched and had another outcome.
  int failed = 0;
};

// Flags of results that no analysis uses. Throttled runs and runs with a neighbour are used,
// because these are what makes a GPU slow: see docs/decisions/0011-judge-throttled-runs.md.
inline constexpr const char* kExcludingFlags[] = {"unverified"};

// Lineages with results that were stored since an earlier look.
struct ChangedLineages {
  std::vector<std::string> lineage_ids;
  // Pass it to the next call. Empty: the beginning of all results.
  std::string cursor;
};

// Findings of a pass over some lineages, to be stored atomically.
struct Findings {
  // The lineages that were judged. What is known by lineage replaces what was known earlier: all
  // below from `outliers` to `node_flags`.
  std::vector<std::string> lineage_ids;
  // Inserted, or replaced if the id exists.
  std::vector<v1::Regression> regressions;
  std::vector<v1::Incident> incidents;
  // Each with exactly one case, of one of the lineages.
  std::vector<v1::Outlier> outliers;
  // Number of places with and without enough peers, by lineage. For ListOutliersResponse.
  struct Judged {
    std::string lineage_id;
    // GPU UUIDs, or node names if there are none, joined by "+".
    std::vector<std::string> with_peers;
    std::vector<std::string> without_peers;
  };
  std::vector<Judged> judged;
  // The rest is for dashboards. Throttled runs are never mixed with others.
  // The runs of a lineage on one driver.
  struct DriverMedian {
    v1::CaseIdentity identity;
    std::string driver;
    bool throttled = false;
    double median = 0;
    std::optional<double> noise;  // Standard deviation between runs of a place, as a fraction.
    std::optional<double> noise_floor;  // Median uncertainty of a run, as a fraction.
    std::optional<double> efficiency_spec;
    int runs = 0;
    int places = 0;
    WallTime oldest{};
    WallTime newest{};
  };
  std::vector<DriverMedian> driver_medians;
  // The runs of a lineage on one driver, compared with those on the driver before it.
  struct DriverChange {
    v1::CaseComparison comparison;  // A is `driver_before`.
    double p_value = 1;
    std::string driver_before;
    std::string driver;
    bool throttled = false;
    WallTime first{};  // End of the first run on `driver`.
  };
  std::vector<DriverChange> driver_changes;
  // The runs of a lineage at one provider and price.
  struct CaseCost {
    v1::CaseIdentity identity;
    std::string provider;
    double dollars_per_hour = 0;  // For what the case uses of its nodes.
    bool throttled = false;
    double median = 0;
    int runs = 0;
    int places = 0;
    WallTime newest{};
  };
  std::vector<CaseCost> case_costs;
  // The runs of a lineage on one node that have a flag.
  struct NodeFlag {
    v1::CaseIdentity identity;
    std::string node_name;
    std::string flag;
    int flagged_runs = 0;
    int runs = 0;       // With the flag or without.
    WallTime newest{};  // End of the newest run with the flag.
  };
  std::vector<NodeFlag> node_flags;
  std::string cursor;
  std::optional<WallTime> judged_until;
};

struct JudgeState {
  std::string cursor;
  std::optional<WallTime> judged_until;
};

struct RegressionQuery {
  bool include_closed = false;  // RESOLVED and CLEARED.
  std::string incident_id;      // Empty: any.
  std::string node_name;        // Empty: any.
  std::string lineage_id;       // Empty: any.
  std::optional<bool> simulated;
};

// Number of open regressions at one place: GPUs that worked together, or nodes if there are none.
struct PlaceRegressions {
  std::vector<std::string> node_names;
  std::vector<std::string> gpu_uuids;
  int count = 0;
};

// Numbers of findings, for metrics.
struct FindingCounts {
  struct Incidents {
    v1::RegressionState state = v1::REGRESSION_STATE_UNSPECIFIED;
    bool simulated = false;
    int count = 0;
  };
  struct Outliers {
    v1::OutlierKind kind = v1::OUTLIER_KIND_UNSPECIFIED;
    std::string gpu_model;  // Empty: a place without GPUs.
    bool simulated = false;
    int places = 0;  // GPUs that worked together, or nodes if there are none.
  };
  std::vector<Incidents> incidents;  // Those that are neither RESOLVED nor CLEARED.
  std::vector<Outliers> outliers;
};

// Thread-safe. Calls block on the database; reads of runs may take seconds, so do not make them on
// threads that renew leases.
class AnalysisStore {
 public:
  virtual ~AnalysisStore() = default;

  // Returns the runs that match `filter` (see schema::ParseResultFilter). Returns INVALID_ARGUMENT
  // with reason TOO_MANY_RESULTS if more than kMaxExaminedResults results would have to be read.
  virtual Result<Runs> ListRuns(const std::string& filter) = 0;

  // Returns the newest runs of a lineage: primary metrics only, at most `per_place` runs for each
  // set of GPUs (or nodes), imported results excluded.
  virtual Result<Runs> ListRunsOfLineage(const std::string& lineage_id, int per_place) = 0;

  // Returns the lineages with runs (see ListRunsOfLineage) that were stored after `cursor`. A
  // lineage may be returned again for some time although it has no new run, but none is ever
  // missed, whatever the order in which transactions end. INVALID_ARGUMENT if `cursor` is not one
  // that this method returned.
  virtual Result<ChangedLineages> ListChangedLineages(const std::string& cursor) = 0;

  virtual Result<JudgeState> GetJudgeState() = 0;
  // Stores findings and the state: an empty cursor or an absent judged_until keeps the stored one.
  // Has no effect and returns FAILED_PRECONDITION if another scheduler has been elected since
  // `term` (0: no check). Keeps acknowledgements that people made meanwhile: acknowledged_by,
  // acknowledge_note, false_alarm, and the state ACKNOWLEDGED of a regression or incident that is
  // stored as DETECTED or CONFIRMED.
  virtual Status PutFindings(const Findings& findings, int64_t term) = 0;

  // Newest detection first.
  virtual Result<Page<v1::Regression>> ListRegressions(const RegressionQuery& query,
                                                       const PageRequest& page) = 0;
  // Counts the regressions that are neither RESOLVED nor CLEARED, by place. Leaves out those whose
  // cause is not the place: a driver, an agent, or a case that became slower at many places.
  // Returns the `limit` places with most regressions.
  virtual Result<std::vector<PlaceRegressions>> CountOpenRegressions(int limit) = 0;
  // Counts open incidents and outliers. Returns the `limit` models with most outliers.
  virtual Result<FindingCounts> CountFindings(int limit) = 0;
  // Newest start first, at most 1,000.
  virtual Result<std::vector<v1::Incident>> ListIncidents(const RegressionQuery& query) = 0;
  // Returns outliers merged by place and kind, the place with most cases first. The numbers of
  // places are of the whole fleet, also if the request names a node.
  virtual Result<v1::ListOutliersResponse> ListOutliers(const v1::ListOutliersRequest& request) = 0;
  // Acknowledges the regression or incident whose id begins with `id`: an incident's regressions,
  // too. Returns the number of regressions. NOT_FOUND if there is none, INVALID_ARGUMENT if several
  // match or if `id` has fewer than 4 characters.
  virtual Result<int> Acknowledge(const std::string& id, const std::string& by,
                                  const std::string& note, bool false_alarm) = 0;

  // Stores a baseline with its cases. Replaces an earlier one of the same name.
  virtual Status PutBaseline(const v1::Baseline& baseline) = 0;
  virtual Result<std::vector<v1::Baseline>> ListBaselines() = 0;
  // NOT_FOUND, with a hint if a name is similar.
  virtual Result<v1::Baseline> GetBaseline(const std::string& name) = 0;

  virtual Status PutAnnotation(const v1::Annotation& annotation) = 0;
  // Returns the annotations from `from` to `to`, inclusive, oldest first. If there are more than
  // 1,000, returns the newest 1,000.
  virtual Result<std::vector<v1::Annotation>> ListAnnotations(WallTime from, WallTime to) = 0;
};

}  // namespace assay::storage
