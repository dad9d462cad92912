#include "coordinator/core/judging/reruns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/comparison.h"
#include "analysis/steps.h"
#include "campaign/expand.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/uuid.h"
#include "coordinator/core/judging/explain.h"
#include "coordinator/core/judging/records.h"
#include "storage/analysis_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using storage::Run;
using storage::Runs;

// Number of reruns that may begin immediately after the coordinator starts, and the maximum number
// that can be saved up while there is nothing to rerun.
constexpr double kFirstCredit = 20;
constexpr double kMostCredit = 200;
// Maximum number of reruns that are under way at the same time.
constexpr int kMostReruns = 16;
constexpr int kMostFailedReruns = 5;
// A rerun that has not ended after this time is cancelled.
constexpr Duration kRerunPatience = std::chrono::hours(2);
// Minimum number of runs of a peer since its last step, with which its reruns are compared.
constexpr size_t kPeerRuns = 10;

// Returns a key for the order in which regressions are rerun, highest key first. Regressions whose
// reruns have begun come before the others. Apart from that, larger regressions come first.
std::pair<bool, double> Urgency(const v1::Regression& one) {
  return {!one.reruns().empty() || !one.rerun_campaign_id().empty(), -std::log(one.step().ratio())};
}

// Confirms steps that joined a confirmed incident later: they need no reruns of their own.
void ConfirmLateSteps(const std::vector<size_t>& members, std::vector<v1::Regression>& open) {
  const auto confirmed = std::find_if(members.begin(), members.end(),
                                      [&](size_t i) { return open[i].has_confirmed_time(); });
  if (confirmed == members.end()) return;
  for (const size_t i : members) {
    if (!open[i].is_step() || open[i].state() != v1::REGRESSION_STATE_DETECTED) continue;
    open[i].set_state(v1::REGRESSION_STATE_CONFIRMED);
    open[i].set_scope(open[*confirmed].scope());
    *open[i].mutable_confirmed_time() = open[*confirmed].confirmed_time();
  }
}

int CountReruns(const v1::Regression& one, bool peer) {
  return static_cast<int>(
      std::count_if(one.reruns().begin(), one.reruns().end(),
                    [&](const v1::ConfirmationRun& run) { return run.peer() == peer; }));
}

std::vector<double> RerunValues(const v1::Regression& one, bool peer) {
  std::vector<double> values;
  for (const v1::ConfirmationRun& run : one.reruns()) {
    if (run.peer() == peer) values.push_back(LogPerformance(one.case_(), run.median()));
  }
  return values;
}

bool IsRerun(const v1::Regression& one, const Run& run) {
  return std::any_of(one.reruns().begin(), one.reruns().end(),
                     [&](const auto& rerun) { return rerun.result_id() == run.result_id; });
}

// Returns the values of the runs between the last step (a lasting change) before `time` and `time`
// itself. Leaves out the reruns of `regression`.
std::vector<double> SegmentBefore(const Runs& runs, const History& history, WallTime time,
                                  const v1::Regression& regression) {
  History earlier = history;
  earlier.used.clear();
  earlier.values.clear();
  for (size_t i = 0; i < history.used.size(); ++i) {
    if (history.used[i]->end_time >= time || IsRerun(regression, *history.used[i])) continue;
    earlier.used.push_back(history.used[i]);
    earlier.values.push_back(history.values[i]);
  }
  const std::vector<analysis::Step> steps = StepsOf(runs, earlier);
  const size_t begin = steps.empty() ? 0 : steps.back().first;
  return {earlier.values.begin() + static_cast<std::ptrdiff_t>(begin), earlier.values.end()};
}

// Returns the name of the campaign of a rerun.
std::string CampaignName(const v1::Regression& one) {
  return "confirm-" + one.regression_id().substr(0, 8);
}

// Returns the specification of the campaign for a rerun. The specification describes the campaign's
// only case, so that the campaign can be shown and exported like any other.
v1::CampaignSpec SpecOf(const v1::Regression& one, const storage::LeasedJob& job,
                        const v1::BenchmarkCase& rerun) {
  v1::CampaignSpec spec;
  spec.set_name(CampaignName(one));
  spec.set_submitted_by("assay");
  spec.set_repetitions(1);
  spec.set_retries(1);
  spec.set_effort(job.job.effort);
  v1::BenchmarkMatrix& matrix = *spec.add_benchmarks();
  matrix.set_benchmark(job.job.benchmark);
  for (const auto& [name, value] : rerun.parameters()) {
    v1::ParameterAxis& axis = *matrix.add_axes();
    axis.set_name(name);
    axis.mutable_list()->add_values(value);
  }
  return spec;
}

// Returns true if a rerun provides evidence about the regression. At the regressed place, it does
// so only if the driver is still the same. At another place, it always does, because that place is
// compared with its own earlier runs.
bool IsComparable(const v1::CaseResult& result, const v1::Regression& one) {
  const v1::Provenance& from = result.provenance();
  const std::string place = storage::PlaceKey({from.node_names().begin(), from.node_names().end()},
                                              {from.gpu_uuids().begin(), from.gpu_uuids().end()});
  return place != storage::PlaceKey(one.place()) ||
         result.environment().driver_version() == one.step().driver_after();
}

}  // namespace

struct Reruns::Known {
  analysis::RerunEvidence place;
  std::optional<analysis::RerunEvidence> peer;
  std::string peer_result_id;  // Newest run of the peer.
};

Reruns::Reruns(const Environment& environment, const Options& options, std::function<void()> kick)
    : environment_(environment),
      options_(options),
      kick_(std::move(kick)),
      credit_(kFirstCredit),
      credited_at_(environment.clock.Now()) {}

Status Reruns::Continue(const std::vector<IncidentMembers>& incidents, size_t new_runs,
                        std::vector<v1::Regression>& open) {
  const MonotonicTime now = environment_.clock.Now();
  credit_ += options_.rerun_share * static_cast<double>(new_runs) +
             std::chrono::duration<double, std::ratio<3600>>(now - credited_at_).count();
  credit_ = std::min(kMostCredit, credit_);
  credited_at_ = now;
  struct Candidate {
    const IncidentMembers* incident;
    size_t index;
  };
  std::vector<Candidate> candidates;
  for (const IncidentMembers& incident : incidents) {
    ConfirmLateSteps(incident.group.members, open);
    std::optional<size_t> first;
    for (const size_t i : incident.group.members) {
      if (open[i].state() != v1::REGRESSION_STATE_DETECTED) continue;
      if (!first || Urgency(open[i]) > Urgency(open[*first])) first = i;
    }
    if (first) candidates.push_back({&incident, *first});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     return Urgency(open[a.index]) > Urgency(open[b.index]);
                   });
  for (const Candidate& candidate : candidates) {
    ASSAY_RETURN_IF_ERROR(ContinueOne(*candidate.incident, candidate.index, new_runs > 0, open));
  }
  return Status::Ok();
}

Result<bool> Reruns::TakeRerun(v1::Regression& one) {
  if (one.rerun_campaign_id().empty()) return true;
  const Result<v1::Campaign> campaign = environment_.jobs.GetCampaign(one.rerun_campaign_id());
  if (campaign.status().code() == Code::kNotFound) {
    one.clear_rerun_campaign_id();
    one.set_failed_reruns(one.failed_reruns() + 1);
    return true;
  }
  if (!campaign.ok()) return campaign.status();
  if (campaign->state() == v1::CAMPAIGN_STATE_ACTIVE) {
    const Duration age =
        environment_.clock.WallNow() - schema::FromTimestamp(campaign->create_time());
    if (age > kRerunPatience) {
      ASSAY_RETURN_IF_ERROR(environment_.jobs.CancelCampaign(campaign->campaign_id()).status());
    }
    return false;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> results,
                         environment_.results.ListOfCampaign(campaign->campaign_id()));
  const auto measured =
      std::find_if(results.begin(), results.end(), [&](const v1::StoredResult& stored) {
        const v1::CaseResult& result = stored.case_result();
        return result.outcome() == v1::CASE_OUTCOME_OK && result.measurements_size() == 1 &&
               result.measurements(0).metric() == one.case_().metric() &&
               IsComparable(result, one) && result.measurements(0).median() > 0;
      });
  one.clear_rerun_campaign_id();
  *one.mutable_next_rerun_time() =
      schema::ToTimestamp(environment_.clock.WallNow() + options_.rerun_spacing);
  if (measured == results.end()) {
    one.set_failed_reruns(one.failed_reruns() + 1);
    return true;
  }
  const v1::CaseResult& result = measured->case_result();
  v1::ConfirmationRun& run = *one.add_reruns();
  *run.mutable_end_time() = result.end_time();
  *run.mutable_place()->mutable_node_names() = result.provenance().node_names();
  *run.mutable_place()->mutable_gpu_uuids() = result.provenance().gpu_uuids();
  run.set_peer(storage::PlaceKey(run.place()) != storage::PlaceKey(one.place()));
  run.set_median(result.measurements(0).median());
  run.set_result_id(measured->result_id());
  return true;
}

Result<Reruns::Known> Reruns::Read(const v1::Regression& one,
                                   const std::vector<v1::Regression>& open) {
  ASSAY_ASSIGN_OR_RETURN(const Runs runs,
                         environment_.analysis.ListRunsOfLineage(one.case_().lineage_id(),
                                                                 static_cast<int>(kRunsPerPlace)));
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      environment_.nodes.ListNodes(options_.Silence(), storage::NodeStore::Benchmarks::kNo));
  std::set<std::string> present;
  for (const v1::Node& node : nodes) {
    if (!campaign::IsAbsent(node)) present.insert(node.description().node_id());
  }
  // Places that regressed at the same time or later cannot be peers.
  const WallTime last_good = schema::FromTimestamp(one.last_good_time());
  std::set<std::string> regressed;
  for (const v1::Regression& other : open) {
    if (other.case_().lineage_id() == one.case_().lineage_id() &&
        schema::FromTimestamp(other.step().time()) >= last_good) {
      regressed.insert(storage::PlaceKey(other.place()));
    }
  }
  Known known;
  known.place.reruns = RerunValues(one, false);
  const WallTime time = schema::FromTimestamp(one.step().time());
  // A peer that has been rerun stays the peer, so that its reruns can be compared.
  std::string peer_key;
  for (const v1::ConfirmationRun& run : one.reruns()) {
    if (run.peer()) peer_key = storage::PlaceKey(run.place());
  }
  std::pair<bool, std::string> best;  // Another node is better, then the higher hash.
  for (const History& history : SortIntoHistories(runs)) {
    if (history.place_key == storage::PlaceKey(one.place())) {
      known.place.segment = SegmentBefore(runs, history, time, one);
      continue;
    }
    const std::vector<double> segment = SegmentBefore(runs, history, WallTime::max(), one);
    if (segment.size() < kPeerRuns || regressed.contains(history.place_key) ||
        !present.contains(history.node_id)) {
      continue;
    }
    const bool elsewhere = history.place.node_names(0) != one.place().node_names(0);
    // Choose among the possible peers by a hash that depends on the regression, to spread the
    // reruns of several regressions over the peers.
    std::pair<bool, std::string> rank(elsewhere,
                                      Sha256Hex(one.regression_id() + history.place_key));
    if (!peer_key.empty() ? history.place_key != peer_key : known.peer && rank < best) continue;
    best = std::move(rank);
    known.peer = analysis::RerunEvidence{segment, RerunValues(one, true)};
    known.peer_result_id = history.used.back()->result_id;
  }
  return known;
}

Result<bool> Reruns::DriverRegressed(const IncidentMembers& incident,
                                     const v1::Regression& one) const {
  if (incident.group.kind != analysis::CauseKind::kDriver) return false;
  ASSAY_ASSIGN_OR_RETURN(const Runs runs,
                         environment_.analysis.ListRunsOfLineage(one.case_().lineage_id(),
                                                                 static_cast<int>(kRunsPerPlace)));
  std::vector<analysis::PlaceRuns> places;
  for (const History& history : SortIntoHistories(runs)) {
    analysis::PlaceRuns& place = places.emplace_back();
    for (size_t i = 0; i < history.used.size(); ++i) {
      const std::string& driver = DriverOf(runs, *history.used[i]);
      if (driver == incident.group.from) place.a.push_back({history.values[i], 0});
      if (driver == incident.group.to) place.b.push_back({history.values[i], 0});
    }
  }
  const analysis::Comparison compared = analysis::Compare(places, {});
  return !compared.these_places_only && compared.verdict == analysis::ComparisonVerdict::kRegressed;
}

Status Reruns::Begin(const std::string& result_id, bool peer, v1::Regression& one) {
  ASSAY_ASSIGN_OR_RETURN(const v1::StoredResult stored, environment_.results.Get(result_id));
  const v1::CaseResult& result = stored.case_result();
  if (result.provenance().node_ids().empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(
      const v1::Node node,
      environment_.nodes.GetNode(result.provenance().node_ids(0), options_.Silence()));
  if (campaign::IsAbsent(node)) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const std::optional<storage::LeasedJob> job,
                         environment_.jobs.GetAttempt(
                             {{stored.job_id(), result.epoch()}, result.provenance().node_ids(0)}));
  if (!job) return Status::Ok();
  const auto found = std::find_if(
      job->job.cases.begin(), job->job.cases.end(),
      [&](const v1::BenchmarkCase& c) { return c.case_index() == result.case_index(); });
  if (found == job->job.cases.end()) return Status::Ok();
  v1::BenchmarkCase rerun = *found;
  rerun.set_case_index(0);
  storage::NewCampaign campaign;
  campaign.campaign_id = NewUuid();
  // Derive the request id from the rerun, so that the rerun starts only once. Otherwise, it could
  // start twice if there are briefly two leaders, or if the leader crashes here and restarts.
  campaign.request_id =
      RecordId("rerun/" + one.regression_id() + (peer ? "/peer/" : "/place/") +
               std::to_string(CountReruns(one, peer)) + "/" + std::to_string(one.failed_reruns()));
  campaign.spec = SpecOf(one, *job, rerun);
  storage::NewJob& again = campaign.jobs.emplace_back(job->job);
  again.job_id = NewUuid();
  again.benchmark_index = 0;
  again.cases = {rerun};
  again.candidate_node_ids = job->node_ids;
  again.node_count = static_cast<int>(job->node_ids.size());
  again.repetition = 1;
  again.seed = std::stoull(Sha256Hex(again.job_id).substr(0, 16), nullptr, 16);
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign created, environment_.jobs.CreateCampaign(campaign));
  one.set_rerun_campaign_id(created.campaign_id());
  credit_ -= 1;
  kick_();
  return Status::Ok();
}

void Reruns::Confirm(const IncidentMembers& incident, size_t index, v1::RegressionScope scope,
                     std::vector<v1::Regression>& open) const {
  for (const size_t i : incident.group.members) {
    if (open[i].state() != v1::REGRESSION_STATE_DETECTED) continue;
    if (!open[i].is_step() && i != index) continue;
    open[i].set_state(v1::REGRESSION_STATE_CONFIRMED);
    open[i].set_scope(scope);
    *open[i].mutable_confirmed_time() = schema::ToTimestamp(environment_.clock.WallNow());
  }
  const v1::Regression& one = open[index];
  Log().warn("regression confirmed: {} on {}, {:.1f}% slower", one.case_().benchmark(),
             one.place().node_names().empty() ? "?" : one.place().node_names(0),
             100 * (1 - one.step().ratio()));
}

Status Reruns::ContinueOne(const IncidentMembers& incident, size_t index, bool has_new_runs,
                           std::vector<v1::Regression>& open) {
  v1::Regression& one = open[index];
  if (one.explanations().empty() && one.is_step() && has_new_runs) {
    ASSAY_RETURN_IF_ERROR(ExplainRegression(environment_, one));
  }
  if (has_new_runs) {
    ASSAY_ASSIGN_OR_RETURN(const bool driver_regressed, DriverRegressed(incident, one));
    if (driver_regressed) {
      Confirm(incident, index, v1::REGRESSION_SCOPE_FLEET, open);
      return Status::Ok();
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const bool idle, TakeRerun(one));
  if (!idle || one.failed_reruns() >= kMostFailedReruns) return Status::Ok();
  if (options_.rerun_share <= 0) return Status::Ok();
  const WallTime now = environment_.clock.WallNow();
  if (one.has_next_rerun_time() && now < schema::FromTimestamp(one.next_rerun_time())) {
    return Status::Ok();
  }
  const auto running = std::count_if(open.begin(), open.end(), [](const v1::Regression& r) {
    return !r.rerun_campaign_id().empty();
  });
  if (credit_ < 1 || running >= kMostReruns) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const Known known, Read(one, open));
  const analysis::Confirmation next = analysis::Confirm(std::log(one.step().ratio()), known.place,
                                                        known.peer ? &*known.peer : nullptr);
  switch (next) {
    case analysis::Confirmation::kRerunPlace:
    case analysis::Confirmation::kRerunPeer: {
      const bool peer = next == analysis::Confirmation::kRerunPeer;
      // If the rerun cannot begin because a node is absent, it is tried again at this time.
      *one.mutable_next_rerun_time() = schema::ToTimestamp(now + options_.rerun_spacing);
      const Status begun = Begin(peer ? known.peer_result_id : one.result_id(), peer, one);
      if (begun.ok() || begun.code() == Code::kUnavailable) return begun;
      // The node or the result was removed. Do not return this error, because that would prevent
      // the other findings from being stored.
      Log().warn("cannot rerun {}: {}", CampaignName(one), begun.ToString());
      one.set_failed_reruns(one.failed_reruns() + 1);
      return Status::Ok();
    }
    case analysis::Confirmation::kCleared:
      one.set_state(v1::REGRESSION_STATE_CLEARED);
      *one.mutable_resolved_time() = schema::ToTimestamp(now);
      return Status::Ok();
    case analysis::Confirmation::kPlaceOnly:
      Confirm(incident, index, v1::REGRESSION_SCOPE_PLACE, open);
      return Status::Ok();
    case analysis::Confirmation::kFleet:
      Confirm(incident, index, v1::REGRESSION_SCOPE_FLEET, open);
      return Status::Ok();
    case analysis::Confirmation::kNoPeer:
      Confirm(incident, index, v1::REGRESSION_SCOPE_NO_PEER, open);
      return Status::Ok();
  }
  return Status::Ok();
}

}  // namespace assay::coordinator
