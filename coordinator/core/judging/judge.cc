#include "coordinator/core/judging/judge.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/statistics.h"
#include "analysis/steps.h"
#include "common/log.h"
#include "coordinator/core/judging/incident_records.h"
#include "coordinator/core/judging/peer_findings.h"
#include "coordinator/core/judging/records.h"
#include "coordinator/core/judging/summaries.h"
#include "storage/analysis_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using storage::Findings;
using storage::Run;
using storage::Runs;

// Number of runs to wait after a single slow run. If a step (a lasting change) has not shown by
// then, the slow run was only a disturbance.
constexpr size_t kPatienceRuns = analysis::kSegmentRuns + kSameStepRuns;

// A judge of one case at one place, which keeps the records of its regressions up to date.
class PlaceJudge {
 public:
  // `known` contains the stored regressions of this case at this place.
  PlaceJudge(const Runs& runs, const History& history, std::vector<v1::Regression> known,
             WallTime now)
      : runs_(runs), history_(history), known_(std::move(known)), now_(now) {}

  // Returns the regressions that are new or have changed.
  std::vector<v1::Regression> Judge(double noise) {
    const std::vector<v1::Regression> before = known_;
    const std::vector<analysis::Step> steps = StepsOf(runs_, history_);
    for (const analysis::Step& step : steps) {
      if (step.change() < 0) Record(step, true);
    }
    const size_t begin = steps.empty() ? 0 : steps.back().first;
    JudgeNewestRun(begin, noise);
    for (v1::Regression& one : known_) Close(one);
    std::vector<v1::Regression> changed;
    for (size_t i = 0; i < known_.size(); ++i) {
      const bool same =
          i < before.size() && before[i].SerializeAsString() == known_[i].SerializeAsString();
      if (!same) changed.push_back(known_[i]);
    }
    return changed;
  }

 private:
  // Returns the index, in history.used, of the first run after a stored regression's step. Returns
  // nullopt if the step is older than all runs.
  std::optional<size_t> IndexOf(const v1::Regression& regression) const {
    const WallTime time = schema::FromTimestamp(regression.step().time());
    const auto found = std::find_if(history_.used.begin(), history_.used.end(),
                                    [&](const Run* run) { return run->end_time >= time; });
    if (found == history_.used.begin() && (*found)->end_time > time) return std::nullopt;
    return static_cast<size_t>(found - history_.used.begin());
  }

  v1::Regression* Find(size_t index) {
    for (v1::Regression& one : known_) {
      const std::optional<size_t> at = IndexOf(one);
      if (at && std::max(*at, index) - std::min(*at, index) <= kSameStepRuns) return &one;
    }
    return nullptr;
  }

  void Record(const analysis::Step& step, bool is_step) {
    v1::Regression* regression = Find(step.first);
    if (regression == nullptr) {
      regression = &known_.emplace_back();
      const Run& first = *history_.used[step.first];
      regression->set_regression_id(RecordId("regression/" + history_.identity.lineage_id() + "/" +
                                             history_.place_key + "/" + first.result_id));
      regression->set_state(v1::REGRESSION_STATE_DETECTED);
      *regression->mutable_case_() = history_.identity;
      *regression->mutable_place() = history_.place;
      *regression->mutable_detected_time() = schema::ToTimestamp(now_);
      Describe(step, *regression);
    } else if (is_step && !regression->is_step()) {
      // A regression found in a single run has turned out to be a step (a lasting change), so its
      // size is now known more precisely. If it was cleared as a disturbance, reopen it.
      if (regression->state() == v1::REGRESSION_STATE_CLEARED) {
        regression->set_state(v1::REGRESSION_STATE_DETECTED);
        regression->clear_reruns();
      }
      Describe(step, *regression);
    }
    regression->set_is_step(regression->is_step() || is_step);
  }

  void Describe(const analysis::Step& step, v1::Regression& regression) const {
    const Run& first = *history_.used[step.first];
    *regression.mutable_step() = StepMessage(runs_, history_, step);
    regression.set_result_id(first.result_id);
    regression.set_agent_version_after(runs_.origins[first.origin].agent_version);
    if (step.first == 0) return;
    const Run& last = *history_.used[step.first - 1];
    *regression.mutable_last_good_time() = schema::ToTimestamp(last.end_time);
    regression.set_result_id_before(last.result_id);
    regression.set_agent_version_before(runs_.origins[last.origin].agent_version);
  }

  void JudgeNewestRun(size_t begin, double noise) {
    const std::vector<double>& values = history_.values;
    const auto deviation =
        analysis::JudgeNewest(std::span(values).subspan(std::min(begin, values.size())), noise);
    if (!deviation || !deviation->suspect) return;
    const bool watched = std::any_of(known_.begin(), known_.end(), [&](const v1::Regression& one) {
      const std::optional<size_t> at = IndexOf(one);
      return !storage::IsClosed(one.state()) && !one.is_step() && at &&
             values.size() - 1 - *at <= kPatienceRuns;
    });
    if (watched) return;
    Record({values.size() - 1, values.back() - deviation->change, values.back()}, false);
  }

  // Closes a regression if the latest runs have recovered at least half of its loss. A step or a
  // confirmed regression becomes RESOLVED. A single slow run that was never confirmed was a
  // disturbance and becomes CLEARED.
  void Close(v1::Regression& one) const {
    if (storage::IsClosed(one.state()) || !one.rerun_campaign_id().empty()) return;
    const size_t after = history_.values.size() - IndexOf(one).value_or(0);
    const bool lasting = one.is_step() || one.has_confirmed_time();
    if (after < (lasting ? analysis::kSegmentRuns : kPatienceRuns)) return;
    const std::vector<double> newest(
        history_.values.end() - static_cast<std::ptrdiff_t>(analysis::kSegmentRuns),
        history_.values.end());
    const double before = LogPerformance(one.case_(), one.step().median_before());
    const double left = analysis::MedianOf(newest) - before;
    if (left < std::log(one.step().ratio()) / 2) return;
    one.set_state(lasting ? v1::REGRESSION_STATE_RESOLVED : v1::REGRESSION_STATE_CLEARED);
    *one.mutable_resolved_time() = schema::ToTimestamp(now_);
  }

  const Runs& runs_;
  const History& history_;
  std::vector<v1::Regression> known_;
  const WallTime now_;
};

}  // namespace

Result<WallTime> Judge::JudgeLineage(const std::string& lineage_id, int64_t term) {
  ASSAY_ASSIGN_OR_RETURN(const Runs runs, environment_.analysis.ListRunsOfLineage(
                                              lineage_id, static_cast<int>(kRunsPerPlace)));
  const std::vector<History> histories = SortIntoHistories(runs);
  storage::RegressionQuery query;
  query.include_closed = true;
  query.lineage_id = lineage_id;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Regression> stored,
                         AllRegressions(environment_.analysis, query));
  std::map<std::string, std::vector<v1::Regression>> known;  // By place.
  for (const v1::Regression& one : stored) known[storage::PlaceKey(one.place())].push_back(one);

  const double noise = NoiseOf(histories);
  const WallTime now = environment_.clock.WallNow();
  Findings findings;
  findings.lineage_ids = {lineage_id};
  WallTime newest{};
  for (const History& history : histories) {
    newest = std::max(newest, history.runs.back()->end_time);
    new_runs_ += static_cast<size_t>(
        std::count_if(history.runs.begin(), history.runs.end(),
                      [&](const Run* run) { return run->end_time > judged_until_; }));
    if (history.used.empty()) continue;
    PlaceJudge place(runs, history, std::move(known[history.place_key]), now);
    for (v1::Regression& one : place.Judge(noise)) findings.regressions.push_back(std::move(one));
  }
  ASSAY_RETURN_IF_ERROR(AddPeerFindings(environment_, runs, histories, findings));
  const bool priced = HasPrices(runs);
  if (priced && !prices_) {
    ASSAY_ASSIGN_OR_RETURN(prices_, Prices::Read(environment_));
  }
  AddSummaries(runs, histories, priced ? &*prices_ : nullptr, findings);
  if (!findings.regressions.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const PlaceIndices indices, PlaceIndices::Read(environment_));
    for (v1::Regression& one : findings.regressions) indices.Complete(*one.mutable_place());
  }
  ASSAY_RETURN_IF_ERROR(environment_.analysis.PutFindings(findings, term));
  return newest;
}

Status Judge::Pass() {
  const int64_t term = leadership_.Term();
  if (term == 0) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const storage::JudgeState state, environment_.analysis.GetJudgeState());
  ASSAY_ASSIGN_OR_RETURN(const storage::ChangedLineages changed,
                         environment_.analysis.ListChangedLineages(state.cursor));
  judged_until_ = state.judged_until.value_or(WallTime());
  new_runs_ = 0;
  prices_.reset();
  WallTime newest = judged_until_;
  for (const std::string& lineage_id : changed.lineage_ids) {
    if (leadership_.Term() != term) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(const WallTime end, JudgeLineage(lineage_id, term));
    newest = std::max(newest, end);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Regression> stored,
                         AllRegressions(environment_.analysis, {}));
  std::vector<v1::Regression> open = stored;
  const std::vector<IncidentMembers> incidents = GroupRegressions(open);
  ASSAY_RETURN_IF_ERROR(reruns_.Continue(incidents, new_runs_, open));
  Findings findings;
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i].SerializeAsString() != stored[i].SerializeAsString()) {
      findings.regressions.push_back(open[i]);
    }
  }
  ASSAY_RETURN_IF_ERROR(AddIncidents(environment_.analysis, incidents, open, findings));
  const bool idle =
      changed.cursor == state.cursor && findings.regressions.empty() && findings.incidents.empty();
  if (idle) return Status::Ok();
  findings.cursor = changed.cursor;
  if (newest > WallTime()) findings.judged_until = newest;
  return environment_.analysis.PutFindings(findings, term);
}

}  // namespace assay::coordinator
