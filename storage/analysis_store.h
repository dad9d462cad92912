// Reads benchmark results for analyses, and stores what the analyses find. Implementations must
// pass tests/contract/analysis_runs_contract.h and analysis_store_contract.h.
//
// A lineage is a group of results of one benchmark case that are comparable across versions of
// drivers and libraries (see storage/identity.h). A place is a set of GPUs, or of nodes without
// GPUs, that ran a case together.
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

// The part of a stored result with outcome OK that analyses need.
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

// The flags that cause analyses to ignore a result. Runs on GPUs that were throttled or shared with
// other processes are not ignored, because analyses must detect GPUs that are slow for these
// reasons. See docs/decisions/0011-judge-throttled-runs.md.
inline constexpr const char* kExcludingFlags[] = {"unverified"};

// The lineages with results that were stored after an earlier call of ListChangedLineages.
struct ChangedLineages {
  std::vector<std::string> lineage_ids;
  // The value to pass to the next call. An empty cursor selects all results.
  std::string cursor;
};

// Findings of a pass over some lineages, to be stored atomically.
struct Findings {
  // The lineages (groups of comparable results) that were judged. For these lineages, the lists
  // below, from `outliers` to `node_flags`, replace everything stored before.
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
  // The runs of a lineage (a group of comparable results) on one driver. This list and those below
  // are for dashboards. They summarize runs on throttled GPUs separately.
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

// A store of benchmark runs and of the findings of analyses. Thread-safe. Methods block on the
// database. Those that read runs may take seconds, so do not call them on threads that renew job
// leases.
class AnalysisStore {
 public:
  virtual ~AnalysisStore() = default;

  // Returns the runs that match `filter` (see schema::ParseResultFilter). Returns INVALID_ARGUMENT
  // with reason TOO_MANY_RESULTS if this would require reading more than kMaxExaminedResults
  // results.
  virtual Result<Runs> ListRuns(const std::string& filter) = 0;

  // Returns the newest runs of a lineage (a group of comparable results), at most `per_place` for
  // each set of GPUs or nodes. Includes only primary metrics and excludes imported results.
  virtual Result<Runs> ListRunsOfLineage(const std::string& lineage_id, int per_place) = 0;

  // Returns the lineages (groups of comparable results) that have runs (see ListRunsOfLineage)
  // stored after `cursor`. Never misses a changed lineage, even if transactions commit out of
  // order, but may keep returning the same one for a while, even without new runs. Returns
  // INVALID_ARGUMENT if `cursor` was not returned by an earlier call.
  virtual Result<ChangedLineages> ListChangedLineages(const std::string& cursor) = 0;

  virtual Result<JudgeState> GetJudgeState() = 0;
  // Stores findings without overwriting acknowledgements made by users. The state ACKNOWLEDGED is
  // kept only if the new state is DETECTED or CONFIRMED. Also stores the cursor and judged_until,
  // which GetJudgeState returns. An empty cursor or an absent judged_until leaves the stored value
  // unchanged.
  // Stores nothing and returns FAILED_PRECONDITION if another coordinator has become the scheduler
  // since election number `term`. If `term` is 0, skips this check.
  virtual Status PutFindings(const Findings& findings, int64_t term) = 0;

  // Returns the regressions that match `query`, the most recently detected first.
  virtual Result<Page<v1::Regression>> ListRegressions(const RegressionQuery& query,
                                                       const PageRequest& page) = 0;
  // Returns the `limit` places (GPUs or nodes) with the most open regressions, along with the
  // counts. A regression is open if it is neither RESOLVED nor CLEARED. Omits regressions that the
  // place did not cause: those due to a driver, an agent, or a case that became slower at many
  // places.
  virtual Result<std::vector<PlaceRegressions>> CountOpenRegressions(int limit) = 0;
  // Counts open incidents and outliers. Returns the `limit` GPU models with the most outliers.
  virtual Result<FindingCounts> CountFindings(int limit) = 0;
  // Returns the incidents that match `query`, the most recently started first, at most 1,000.
  virtual Result<std::vector<v1::Incident>> ListIncidents(const RegressionQuery& query) = 0;
  // Returns the outliers: places that differ from their peers. Merges outliers of different cases
  // by place and kind, and lists those with the most cases first. The counts of places in the
  // response always cover the whole fleet, even if the request selects one node.
  virtual Result<v1::ListOutliersResponse> ListOutliers(const v1::ListOutliersRequest& request) = 0;
  // Acknowledges the regression or incident whose id begins with `id`. For an incident, also
  // acknowledges its regressions. Returns the number of acknowledged regressions, NOT_FOUND if no
  // id matches, or INVALID_ARGUMENT if several match or `id` has fewer than four characters.
  virtual Result<int> Acknowledge(const std::string& id, const std::string& by,
                                  const std::string& note, bool false_alarm) = 0;

  // Stores a baseline with its cases. Replaces an earlier one of the same name.
  virtual Status PutBaseline(const v1::Baseline& baseline) = 0;
  virtual Result<std::vector<v1::Baseline>> ListBaselines() = 0;
  // Returns NOT_FOUND if there is no such baseline, with a hint if a name is similar.
  virtual Result<v1::Baseline> GetBaseline(const std::string& name) = 0;

  virtual Status PutAnnotation(const v1::Annotation& annotation) = 0;
  // Returns the annotations from `from` to `to`, inclusive, oldest first. If there are more than
  // 1,000, returns only the newest 1,000.
  virtual Result<std::vector<v1::Annotation>> ListAnnotations(WallTime from, WallTime to) = 0;
};

}  // namespace assay::storage
