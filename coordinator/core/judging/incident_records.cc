#include "coordinator/core/judging/incident_records.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "coordinator/core/judging/records.h"
#include "storage/analysis_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using google::protobuf::Timestamp;

double SecondsOf(const Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

analysis::SteppedCase SteppedCaseOf(const v1::Regression& one) {
  analysis::SteppedCase step;
  step.time = SecondsOf(one.step().time());
  step.last_good_time = one.has_last_good_time() ? SecondsOf(one.last_good_time()) : step.time;
  step.case_id = one.case_().lineage_id();
  step.driver_before = one.step().driver_before();
  step.driver_after = one.step().driver_after();
  step.agent_before = one.agent_version_before();
  step.agent_after = one.agent_version_after();
  step.gpus = {one.place().gpu_uuids().begin(), one.place().gpu_uuids().end()};
  step.nodes = {one.place().node_names().begin(), one.place().node_names().end()};
  return step;
}

v1::IncidentCause CauseOf(analysis::CauseKind kind) {
  switch (kind) {
    case analysis::CauseKind::kDriver:
      return v1::INCIDENT_CAUSE_DRIVER;
    case analysis::CauseKind::kAgent:
      return v1::INCIDENT_CAUSE_AGENT;
    case analysis::CauseKind::kGpu:
      return v1::INCIDENT_CAUSE_GPU;
    case analysis::CauseKind::kNode:
      return v1::INCIDENT_CAUSE_NODE;
    case analysis::CauseKind::kCase:
      break;
  }
  return v1::INCIDENT_CAUSE_CASE;
}

// Chooses the id that most of an incident's regressions already have. Ignores ids that other
// incidents have taken. If no id is left, creates a new one.
std::string ChooseId(const std::vector<size_t>& members, const std::vector<v1::Regression>& open,
                     std::set<std::string>& taken) {
  std::map<std::string, int> votes;
  std::string first;  // The least id, so that the order of members does not matter.
  for (const size_t i : members) {
    if (!open[i].incident_id().empty()) ++votes[open[i].incident_id()];
    if (first.empty() || open[i].regression_id() < first) first = open[i].regression_id();
  }
  std::string best = RecordId("incident/" + first);
  while (taken.contains(best)) best = RecordId(best);
  int most = 0;
  for (const auto& [id, count] : votes) {
    if (count <= most || taken.contains(id)) continue;
    best = id;
    most = count;
  }
  taken.insert(best);
  return best;
}

// Returns the state of an incident, which is that of its regression most in need of attention.
v1::RegressionState Combined(const std::set<v1::RegressionState>& states) {
  for (const v1::RegressionState state :
       {v1::REGRESSION_STATE_CONFIRMED, v1::REGRESSION_STATE_DETECTED,
        v1::REGRESSION_STATE_ACKNOWLEDGED, v1::REGRESSION_STATE_RESOLVED}) {
    if (states.contains(state)) return state;
  }
  return v1::REGRESSION_STATE_CLEARED;
}

void SetEarlier(const Timestamp& time, Timestamp* earliest, bool known) {
  if (!known || schema::FromTimestamp(time) < schema::FromTimestamp(*earliest)) *earliest = time;
}

v1::Incident MakeIncident(const IncidentMembers& members, const std::vector<v1::Regression>& open) {
  const analysis::IncidentGroup& group = members.group;
  v1::Incident incident;
  incident.set_incident_id(members.incident_id);
  incident.set_cause(CauseOf(group.kind));
  incident.set_from(group.from);
  incident.set_to(group.to);
  incident.set_worst_ratio(1);
  std::set<v1::RegressionState> states;
  std::set<std::string> places, cases;
  for (const size_t i : group.members) {
    const v1::Regression& one = open[i];
    states.insert(one.state());
    if (one.scope() != v1::REGRESSION_SCOPE_UNSPECIFIED) incident.set_scope(one.scope());
    SetEarlier(one.step().time(), incident.mutable_start_time(), !places.empty());
    if (one.has_last_good_time()) {
      SetEarlier(one.last_good_time(), incident.mutable_last_good_time(),
                 incident.has_last_good_time() && incident.last_good_time().seconds() != 0);
    }
    places.insert(storage::PlaceKey(one.place()));
    cases.insert(one.case_().lineage_id());
    incident.set_worst_ratio(std::min(incident.worst_ratio(), one.step().ratio()));
    incident.set_simulated(one.case_().simulated());
  }
  const v1::Place& place = open[group.members.front()].place();
  if (group.kind == analysis::CauseKind::kCase && places.size() == 1) {
    // If only one case at one place has regressed, report the place (a GPU or a node) as the cause,
    // because that is what users are looking for.
    const bool on_gpu = !place.gpu_uuids().empty();
    incident.set_cause(on_gpu ? v1::INCIDENT_CAUSE_GPU : v1::INCIDENT_CAUSE_NODE);
    incident.set_to(on_gpu ? place.gpu_uuids(0) : place.node_names(0));
  }
  if (incident.cause() == v1::INCIDENT_CAUSE_GPU && places.size() == 1) {
    *incident.mutable_place() = place;
  } else if (incident.cause() == v1::INCIDENT_CAUSE_GPU ||
             incident.cause() == v1::INCIDENT_CAUSE_NODE) {
    *incident.mutable_place()->mutable_node_names() = place.node_names();
  }
  incident.set_state(Combined(states));
  incident.set_regression_count(static_cast<int>(group.members.size()));
  incident.set_place_count(static_cast<int>(places.size()));
  incident.set_case_count(static_cast<int>(cases.size()));
  return incident;
}

}  // namespace

Result<std::vector<v1::Regression>> AllRegressions(storage::AnalysisStore& store,
                                                   const storage::RegressionQuery& query) {
  constexpr int kPageSize = 1000;
  std::vector<v1::Regression> all;
  PageRequest request{kPageSize, ""};
  do {
    ASSAY_ASSIGN_OR_RETURN(Page<v1::Regression> page, store.ListRegressions(query, request));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(all));
    request.token = page.next_token;
  } while (!request.token.empty());
  return all;
}

std::vector<IncidentMembers> GroupRegressions(std::vector<v1::Regression>& open) {
  std::vector<IncidentMembers> incidents;
  std::set<std::string> taken;
  // Group regressions of real and of simulated nodes separately, because they have no common cause.
  for (const bool simulated : {false, true}) {
    std::vector<analysis::SteppedCase> steps;
    std::vector<size_t> indices;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].case_().simulated() != simulated) continue;
      steps.push_back(SteppedCaseOf(open[i]));
      indices.push_back(i);
    }
    for (analysis::IncidentGroup& group : analysis::GroupIncidents(steps)) {
      for (size_t& member : group.members) member = indices[member];
      const std::string id = ChooseId(group.members, open, taken);
      for (const size_t i : group.members) open[i].set_incident_id(id);
      incidents.push_back({id, std::move(group)});
    }
  }
  return incidents;
}

Status AddIncidents(storage::AnalysisStore& store, const std::vector<IncidentMembers>& incidents,
                    const std::vector<v1::Regression>& open, storage::Findings& findings) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Incident> stored, store.ListIncidents({}));
  std::map<std::string, const v1::Incident*> known;
  for (const v1::Incident& one : stored) known[one.incident_id()] = &one;
  for (const IncidentMembers& members : incidents) {
    v1::Incident incident = MakeIncident(members, open);
    const auto found = known.find(incident.incident_id());
    const bool same =
        found != known.end() && found->second->SerializeAsString() == incident.SerializeAsString();
    if (found != known.end()) known.erase(found);
    if (!same) findings.incidents.push_back(std::move(incident));
  }
  // The remaining incidents have no open regression, so close them.
  for (const auto& [id, incident] : known) {
    storage::RegressionQuery query;
    query.include_closed = true;
    query.incident_id = id;
    ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Regression> members, AllRegressions(store, query));
    std::set<v1::RegressionState> states;
    for (const v1::Regression& one : members) {
      if (storage::IsClosed(one.state())) states.insert(one.state());
    }
    v1::Incident closed = *incident;
    closed.set_state(Combined(states));
    findings.incidents.push_back(std::move(closed));
  }
  return Status::Ok();
}

}  // namespace assay::coordinator
