#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "storage/analysis_rules.h"
#include "storage/fakes/fake_stores.h"
#include "storage/store_rules.h"
#include "wire/interval.h"
#include "wire/result_filter.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using ResultRow = FakeDatabase::ResultRow;
using Texts = google::protobuf::RepeatedPtrField<std::string>;

template <typename Range>
bool Has(const Range& range, const std::string& text) {
  return std::find(range.begin(), range.end(), text) != range.end();
}

v1::CaseIdentity IdentityOfCase(const v1::StoredResult& stored) {
  const v1::CaseResult& result = stored.case_result();
  const v1::Measurement& measurement = result.measurements(0);
  v1::CaseIdentity identity;
  identity.set_benchmark(result.benchmark());
  identity.set_benchmark_version(result.benchmark_version());
  *identity.mutable_parameters() = result.parameters();
  identity.set_metric(measurement.metric());
  identity.set_unit(measurement.unit());
  identity.set_direction(measurement.direction());
  identity.set_cache(measurement.method().cache());
  identity.set_fill(measurement.method().fill());
  *identity.mutable_hardware() = HardwareOf(result.environment());
  identity.set_lineage_id(stored.lineage_id());
  identity.set_simulated(result.provenance().simulated());
  return identity;
}

RunOrigin OriginOf(const v1::Provenance& provenance) {
  const auto texts = [](const Texts& list) {
    return std::vector<std::string>(list.begin(), list.end());
  };
  RunOrigin origin;
  origin.node_ids = texts(provenance.node_ids());
  origin.node_names = texts(provenance.node_names());
  origin.gpu_uuids = texts(provenance.gpu_uuids());
  origin.provider = provenance.provider();
  if (provenance.has_price_per_hour()) origin.price_per_hour = provenance.price_per_hour();
  origin.agent_version = provenance.agent_version();
  return origin;
}

// Collects runs with their series and origins.
class RunsBuilder {
 public:
  void Add(const v1::StoredResult& stored) {
    const v1::CaseResult& result = stored.case_result();
    if (result.outcome() != v1::CASE_OUTCOME_OK) {
      ++runs_.failed;
      return;
    }
    if (result.measurements().empty()) return;
    const auto [series, new_series] = series_.try_emplace(stored.series_id(), runs_.series.size());
    if (new_series) runs_.series.push_back({IdentityOfCase(stored), result.environment()});
    const auto [origin, new_origin] =
        origins_.try_emplace(DeterministicBytes(result.provenance()), runs_.origins.size());
    if (new_origin) runs_.origins.push_back(OriginOf(result.provenance()));
    Run& run = runs_.runs.emplace_back();
    run.series = series->second;
    run.origin = origin->second;
    run.end_time = schema::FromTimestamp(result.end_time());
    run.median = result.measurements(0).median();
    run.uncertainty = schema::Uncertainty(result.measurements(0));
    run.excluded = IsExcluded(result.conditions().flags());
    run.flags.assign(result.conditions().flags().begin(), result.conditions().flags().end());
    if (result.prediction().has_efficiency_spec()) {
      run.efficiency_spec = result.prediction().efficiency_spec();
    }
    run.result_id = stored.result_id();
  }

  Runs Take() && {
    std::stable_sort(runs_.runs.begin(), runs_.runs.end(),
                     [](const Run& a, const Run& b) { return a.end_time < b.end_time; });
    return std::move(runs_);
  }

 private:
  Runs runs_;
  std::map<std::string, size_t> series_, origins_;
};

// Returns whether analyses find the result by its lineage.
bool IsJudged(const v1::StoredResult& stored) {
  return stored.primary() && stored.case_result().provenance().imported_from().empty();
}

bool Matches(const RegressionQuery& query, const v1::Regression& regression) {
  return (query.include_closed || !IsClosed(regression.state())) &&
         (query.incident_id.empty() || regression.incident_id() == query.incident_id) &&
         (query.node_name.empty() || Has(regression.place().node_names(), query.node_name)) &&
         (query.lineage_id.empty() || regression.case_().lineage_id() == query.lineage_id) &&
         (!query.simulated || regression.case_().simulated() == *query.simulated);
}

}  // namespace

Result<Runs> FakeAnalysisStore::ListRuns(const std::string& text) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(text));
  RunsBuilder builder;
  int examined = 0;
  for (const ResultRow& row : database_.results) {
    ASSAY_ASSIGN_OR_RETURN(const bool matches, schema::MatchesResult(filter, row.stored));
    if (!matches) continue;
    if (++examined > kMaxExaminedResults) {
      return InvalidArgument("filter: too many results match", Reason::kTooManyResults);
    }
    builder.Add(row.stored);
  }
  return std::move(builder).Take();
}

Result<Runs> FakeAnalysisStore::ListRunsOfLineage(const std::string& lineage_id, int per_place) {
  MutexLock lock(database_.mutex);
  std::vector<const v1::StoredResult*> newest;
  for (const ResultRow& row : database_.results) {
    if (row.stored.lineage_id() == lineage_id && IsJudged(row.stored)) {
      newest.push_back(&row.stored);
    }
  }
  std::stable_sort(newest.begin(), newest.end(),
                   [](const v1::StoredResult* a, const v1::StoredResult* b) {
                     return schema::FromTimestamp(a->case_result().end_time()) >
                            schema::FromTimestamp(b->case_result().end_time());
                   });
  RunsBuilder builder;
  std::map<std::string, int> taken;  // By place.
  for (const v1::StoredResult* stored : newest) {
    const bool ok = stored->case_result().outcome() == v1::CASE_OUTCOME_OK;
    const RunOrigin origin = OriginOf(stored->case_result().provenance());
    if (ok && ++taken[PlaceKey(origin.node_names, origin.gpu_uuids)] > per_place) continue;
    builder.Add(*stored);
  }
  return std::move(builder).Take();
}

Result<ChangedLineages> FakeAnalysisStore::ListChangedLineages(const std::string& cursor) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken('l', cursor, 0));
  std::set<std::string> changed;
  int64_t last = after;
  for (const ResultRow& row : database_.results) {
    if (row.sequence <= after) continue;
    last = std::max(last, row.sequence);
    const bool ok = row.stored.case_result().outcome() == v1::CASE_OUTCOME_OK;
    if (ok && IsJudged(row.stored)) changed.insert(row.stored.lineage_id());
  }
  return ChangedLineages{{changed.begin(), changed.end()}, MakePageToken('l', last)};
}

Result<JudgeState> FakeAnalysisStore::GetJudgeState() {
  MutexLock lock(database_.mutex);
  return database_.judge_state;
}

bool FakeAnalysisStore::IsSimulated(const std::string& lineage_id) const {
  return std::any_of(database_.results.begin(), database_.results.end(), [&](const ResultRow& row) {
    return row.stored.lineage_id() == lineage_id &&
           row.stored.case_result().provenance().simulated();
  });
}

void FakeAnalysisStore::ReplaceOutliers(const Findings& findings) {
  std::erase_if(database_.outliers, [&](const v1::Outlier& outlier) {
    return Has(findings.lineage_ids, outlier.cases(0).case_().lineage_id());
  });
  database_.outliers.insert(database_.outliers.end(), findings.outliers.begin(),
                            findings.outliers.end());
  for (const std::string& lineage_id : findings.lineage_ids) database_.judged.erase(lineage_id);
  for (const Findings::Judged& judged : findings.judged) {
    database_.judged[judged.lineage_id] = {judged, IsSimulated(judged.lineage_id)};
  }
}

void FakeAnalysisStore::ReplaceSummaries(const Findings& findings) {
  const auto replace = [&](auto& rows, const auto& fresh, const auto& lineage_of) {
    std::erase_if(rows,
                  [&](const auto& row) { return Has(findings.lineage_ids, lineage_of(row)); });
    rows.insert(rows.end(), fresh.begin(), fresh.end());
  };
  const auto own = [](const auto& row) { return row.identity.lineage_id(); };
  const auto compared = [](const auto& row) { return row.comparison.case_().lineage_id(); };
  replace(database_.driver_medians, findings.driver_medians, own);
  replace(database_.driver_changes, findings.driver_changes, compared);
  replace(database_.case_costs, findings.case_costs, own);
  replace(database_.node_flags, findings.node_flags, own);
}

Status FakeAnalysisStore::PutFindings(const Findings& findings, int64_t term) {
  MutexLock lock(database_.mutex);
  if (!database_.IsTerm(term)) return AnotherScheduler();
  for (v1::Regression regression : findings.regressions) {
    const auto stored = database_.regressions.find(regression.regression_id());
    if (stored != database_.regressions.end()) KeepAcknowledgement(stored->second, regression);
    database_.regressions[regression.regression_id()] = regression;
  }
  for (v1::Incident incident : findings.incidents) {
    const auto stored = database_.incidents.find(incident.incident_id());
    if (stored != database_.incidents.end()) KeepAcknowledgement(stored->second, incident);
    database_.incidents[incident.incident_id()] = incident;
  }
  ReplaceOutliers(findings);
  ReplaceSummaries(findings);
  if (!findings.cursor.empty()) database_.judge_state.cursor = findings.cursor;
  if (findings.judged_until) database_.judge_state.judged_until = findings.judged_until;
  return Status::Ok();
}

Result<Page<v1::Regression>> FakeAnalysisStore::ListRegressions(const RegressionQuery& query,
                                                                const PageRequest& request) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const RegressionPosition after, ParsePosition(request.token));
  std::map<RegressionPosition, const v1::Regression*> sorted;
  for (const auto& [id, regression] : database_.regressions) {
    if (PositionOf(regression) < after && Matches(query, regression)) {
      sorted[PositionOf(regression)] = &regression;
    }
  }
  PageFiller<v1::Regression> filler(kRegressionPages, request);
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) {
    if (!filler.Add(*it->second, PositionText(it->first))) break;
  }
  return std::move(filler).Take();
}

namespace {

bool ConcernsPlace(v1::IncidentCause cause) {
  return cause != v1::INCIDENT_CAUSE_DRIVER && cause != v1::INCIDENT_CAUSE_AGENT &&
         cause != v1::INCIDENT_CAUSE_CASE;
}

}  // namespace

Result<std::vector<PlaceRegressions>> FakeAnalysisStore::CountOpenRegressions(int limit) {
  MutexLock lock(database_.mutex);
  using Names = std::vector<std::string>;
  std::map<std::pair<Names, Names>, int> counts;
  for (const auto& [id, regression] : database_.regressions) {
    if (IsClosed(regression.state())) continue;
    const auto incident = database_.incidents.find(regression.incident_id());
    if (incident != database_.incidents.end() && !ConcernsPlace(incident->second.cause())) continue;
    const v1::Place& place = regression.place();
    ++counts[{Names(place.node_names().begin(), place.node_names().end()),
              Names(place.gpu_uuids().begin(), place.gpu_uuids().end())}];
  }
  std::vector<PlaceRegressions> places;
  for (const auto& [place, count] : counts) places.push_back({place.first, place.second, count});
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  if (places.size() > static_cast<size_t>(limit)) places.resize(static_cast<size_t>(limit));
  return places;
}

Result<FindingCounts> FakeAnalysisStore::CountFindings(int limit) {
  MutexLock lock(database_.mutex);
  std::map<std::pair<v1::RegressionState, bool>, int> incidents;
  for (const auto& [id, incident] : database_.incidents) {
    if (IsClosed(incident.state())) continue;
    ++incidents[{incident.state(), incident.simulated()}];
  }
  std::map<std::tuple<v1::OutlierKind, std::string, bool>, std::set<std::string>> outliers;
  for (const v1::Outlier& outlier : database_.outliers) {
    const v1::CaseIdentity& identity = outlier.cases(0).case_();
    outliers[{outlier.kind(), identity.hardware().gpu_model(), outlier.simulated()}].insert(
        PlaceKey(outlier.place()));
  }
  FindingCounts counts;
  for (const auto& [key, count] : incidents) {
    counts.incidents.push_back({key.first, key.second, count});
  }
  for (const auto& [key, places] : outliers) {
    counts.outliers.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), static_cast<int>(places.size())});
  }
  std::stable_sort(counts.outliers.begin(), counts.outliers.end(),
                   [](const auto& a, const auto& b) { return a.places > b.places; });
  if (counts.outliers.size() > static_cast<size_t>(limit)) {
    counts.outliers.resize(static_cast<size_t>(limit));
  }
  return counts;
}

bool FakeAnalysisStore::HasRegression(const std::string& incident_id,
                                      const RegressionQuery& query) const {
  RegressionQuery any = query;
  any.include_closed = true;
  any.incident_id = incident_id;
  return std::any_of(database_.regressions.begin(), database_.regressions.end(),
                     [&](const auto& one) { return Matches(any, one.second); });
}

Result<std::vector<v1::Incident>> FakeAnalysisStore::ListIncidents(const RegressionQuery& query) {
  MutexLock lock(database_.mutex);
  std::vector<v1::Incident> incidents;
  for (const auto& [id, incident] : database_.incidents) {
    const bool member = query.node_name.empty() && query.lineage_id.empty();
    if ((query.include_closed || !IsClosed(incident.state())) &&
        (query.incident_id.empty() || id == query.incident_id) &&
        (!query.simulated || incident.simulated() == *query.simulated) &&
        (member || HasRegression(id, query))) {
      incidents.push_back(incident);
    }
  }
  std::stable_sort(
      incidents.begin(), incidents.end(), [](const v1::Incident& a, const v1::Incident& b) {
        return std::make_tuple(schema::FromTimestamp(a.start_time()), a.incident_id()) >
               std::make_tuple(schema::FromTimestamp(b.start_time()), b.incident_id());
      });
  if (incidents.size() > kMaxListedIncidents) incidents.resize(kMaxListedIncidents);
  return incidents;
}

Result<v1::ListOutliersResponse> FakeAnalysisStore::ListOutliers(
    const v1::ListOutliersRequest& request) {
  MutexLock lock(database_.mutex);
  std::map<std::string, int> counts;  // Of lineages with peers, by place.
  for (const auto& [lineage_id, one] : database_.judged) {
    if (one.simulated != request.simulated()) continue;
    for (const std::string& place : one.judged.with_peers) ++counts[place];
    for (const std::string& place : one.judged.without_peers) counts.try_emplace(place);
  }
  std::vector<v1::Outlier> outliers;
  for (const v1::Outlier& outlier : database_.outliers) {
    const bool on_node =
        request.node_name().empty() || Has(outlier.place().node_names(), request.node_name());
    if (on_node && outlier.simulated() == request.simulated()) outliers.push_back(outlier);
  }
  v1::ListOutliersResponse response;
  for (v1::Outlier& outlier : MergeOutliers(outliers, counts)) {
    *response.add_outliers() = std::move(outlier);
  }
  const auto judged =
      std::count_if(counts.begin(), counts.end(), [](const auto& one) { return one.second > 0; });
  response.set_judged_places(static_cast<int>(judged));
  response.set_unjudged_places(static_cast<int>(counts.size()) - static_cast<int>(judged));
  if (database_.judge_state.judged_until) {
    *response.mutable_judged_until() = schema::ToTimestamp(*database_.judge_state.judged_until);
  }
  return response;
}

Result<int> FakeAnalysisStore::Acknowledge(const std::string& id, const std::string& by,
                                           const std::string& note, bool false_alarm) {
  ASSAY_RETURN_IF_ERROR(CheckIdPrefix(id));
  MutexLock lock(database_.mutex);
  std::vector<std::string> ids;
  for (const auto& [incident_id, incident] : database_.incidents) {
    if (incident_id.starts_with(id)) ids.push_back(incident_id);
  }
  for (const auto& [regression_id, regression] : database_.regressions) {
    if (regression_id.starts_with(id)) ids.push_back(regression_id);
  }
  ASSAY_ASSIGN_OR_RETURN(const size_t index, OnlyId(id, ids));
  const std::string& found = ids[index];
  if (const auto incident = database_.incidents.find(found);
      incident != database_.incidents.end()) {
    storage::Acknowledge(incident->second);
  }
  int count = 0;
  for (auto& [regression_id, regression] : database_.regressions) {
    if (regression_id != found && regression.incident_id() != found) continue;
    storage::Acknowledge(by, note, false_alarm, regression);
    ++count;
  }
  return count;
}

Status FakeAnalysisStore::PutBaseline(const v1::Baseline& baseline) {
  MutexLock lock(database_.mutex);
  database_.baselines[baseline.name()] = baseline;
  return Status::Ok();
}

Result<std::vector<v1::Baseline>> FakeAnalysisStore::ListBaselines() {
  MutexLock lock(database_.mutex);
  std::vector<v1::Baseline> baselines;
  for (const auto& [name, baseline] : database_.baselines) {
    baselines.push_back(baseline);
    baselines.back().clear_cases();
  }
  return baselines;
}

Result<v1::Baseline> FakeAnalysisStore::GetBaseline(const std::string& name) {
  MutexLock lock(database_.mutex);
  const auto baseline = database_.baselines.find(name);
  if (baseline != database_.baselines.end()) return baseline->second;
  std::vector<std::string> names;
  for (const auto& [one, unused] : database_.baselines) names.push_back(one);
  return NoSuch("baseline", name, names);
}

Status FakeAnalysisStore::PutAnnotation(const v1::Annotation& annotation) {
  MutexLock lock(database_.mutex);
  database_.annotations[annotation.annotation_id()] = annotation;
  return Status::Ok();
}

Result<std::vector<v1::Annotation>> FakeAnalysisStore::ListAnnotations(WallTime from, WallTime to) {
  MutexLock lock(database_.mutex);
  std::multimap<WallTime, v1::Annotation> sorted;
  for (const auto& [id, annotation] : database_.annotations) {
    const WallTime time = schema::FromTimestamp(annotation.time());
    if (from <= time && time <= to) sorted.emplace(time, annotation);
  }
  std::vector<v1::Annotation> annotations;
  for (auto& [time, annotation] : sorted) annotations.push_back(std::move(annotation));
  if (annotations.size() > kMaxListedAnnotations) {
    annotations.erase(annotations.begin(),
                      annotations.end() - static_cast<std::ptrdiff_t>(kMaxListedAnnotations));
  }
  return annotations;
}

}  // namespace assay::storage
