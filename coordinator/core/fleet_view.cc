#include "coordinator/core/fleet_view.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "campaign/node_fields.h"
#include "coordinator/core/guarded.h"
#include "model/filter.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

// Maximum number of places (GPUs, sets of GPUs, or nodes) whose regressions are read. If more
// places have regressed, the problem affects the whole fleet.
constexpr int kMostPlaces = 10'000;
constexpr int kMostCampaigns = 1000;
// Maximum number of campaigns whose waiting jobs are read.
constexpr int kMostExamined = 20;
// Number of nodes, with their benchmarks, that are read with one query.
constexpr int kNodesAtOnce = 64;

// Changes of telemetry that are too small to be sent to every viewer.
constexpr double kNoiseCelsius = 2;
constexpr double kNoiseFraction = 0.05;
constexpr double kNoiseWatts = 5;
constexpr double kNoiseMhz = 45;
constexpr double kNoisePercent = 5;

bool IsClose(double a, double b, double difference) { return std::abs(a - b) <= difference; }

// Returns true if `now` differs from `before` only by noise.
bool IsSameButForNoise(const v1::FleetNode& now, const v1::FleetNode& before) {
  if (now.gpus_size() != before.gpus_size()) return false;
  v1::FleetNode rest = now;
  // While the node is connected, the time of its latest heartbeat does not count as a change.
  if (now.state() == v1::NODE_STATE_CONNECTED && before.has_last_heartbeat_time()) {
    *rest.mutable_last_heartbeat_time() = before.last_heartbeat_time();
  }
  for (int i = 0; i < now.gpus_size(); ++i) {
    v1::FleetGpu& gpu = *rest.mutable_gpus(i);
    const v1::FleetGpu& old = before.gpus(i);
    if (gpu.has_temperature_celsius() && old.has_temperature_celsius() &&
        IsClose(gpu.temperature_celsius(), old.temperature_celsius(), kNoiseCelsius)) {
      gpu.set_temperature_celsius(old.temperature_celsius());
    }
    if (gpu.has_power_watts() && old.has_power_watts() &&
        IsClose(gpu.power_watts(), old.power_watts(),
                std::max(kNoiseWatts, kNoiseFraction * old.power_watts()))) {
      gpu.set_power_watts(old.power_watts());
    }
    if (gpu.has_sm_clock_mhz() && old.has_sm_clock_mhz() &&
        IsClose(gpu.sm_clock_mhz(), old.sm_clock_mhz(), kNoiseMhz)) {
      gpu.set_sm_clock_mhz(old.sm_clock_mhz());
    }
    if (gpu.has_utilization_percent() && old.has_utilization_percent() &&
        IsClose(gpu.utilization_percent(), old.utilization_percent(), kNoisePercent)) {
      gpu.set_utilization_percent(old.utilization_percent());
    }
  }
  // Labels are compared by content, because the bytes of a map have no fixed order.
  const std::map<std::string, std::string> labels(rest.labels().begin(), rest.labels().end());
  const std::map<std::string, std::string> old_labels(before.labels().begin(),
                                                      before.labels().end());
  if (labels != old_labels) return false;
  v1::FleetNode old = before;
  rest.clear_labels();
  old.clear_labels();
  return rest.SerializeAsString() == old.SerializeAsString();
}

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

void AddTelemetry(const v1::GpuTelemetry& telemetry, v1::FleetGpu& gpu) {
  if (telemetry.has_temperature_celsius()) {
    gpu.set_temperature_celsius(Rounded(telemetry.temperature_celsius()));
  }
  if (telemetry.has_power_watts()) gpu.set_power_watts(Rounded(telemetry.power_watts()));
  if (telemetry.has_power_limit_watts()) {
    gpu.set_power_limit_watts(Rounded(telemetry.power_limit_watts()));
  }
  if (telemetry.has_sm_clock_mhz()) gpu.set_sm_clock_mhz(Rounded(telemetry.sm_clock_mhz()));
  if (telemetry.has_utilization()) {
    gpu.set_utilization_percent(Rounded(telemetry.utilization() * 100));
  }
  *gpu.mutable_throttle_reasons() = telemetry.throttle_reasons();
  if (telemetry.has_ecc_uncorrected()) gpu.set_ecc_uncorrected(telemetry.ecc_uncorrected());
  if (telemetry.has_last_xid()) gpu.set_last_xid(telemetry.last_xid());
}

// Removes the fields needed by neither the view nor its filters. This saves memory, because a
// snapshot keeps the descriptions of all nodes.
void LeaveOutUnfiltered(v1::NodeDescription& node) {
  node.clear_benchmarks();
  node.clear_health();
  node.mutable_inventory()->clear_gpu_links();
}

void CountNode(const v1::FleetNode& node, v1::FleetSummary& summary) {
  summary.set_node_count(summary.node_count() + 1);
  summary.set_gpu_count(summary.gpu_count() + node.gpus_size());
  if (node.state() != v1::NODE_STATE_CONNECTED) {
    summary.set_lost_node_count(summary.lost_node_count() + 1);
  }
  if (!node.quarantine().empty()) {
    summary.set_quarantined_node_count(summary.quarantined_node_count() + 1);
  }
  if (node.has_cordon()) {
    summary.set_cordoned_node_count(summary.cordoned_node_count() + 1);
  }
  if (node.health_error_count() > 0)
    summary.set_failing_node_count(summary.failing_node_count() + 1);
  for (const v1::FleetGpu& gpu : node.gpus()) {
    if (gpu.has_outlier_ratio()) summary.set_outlier_count(summary.outlier_count() + 1);
  }
}

// Returns the names of the nodes that match a filter which names benchmarks.
Result<std::set<std::string>> NamesOfMatching(const Filter& filter, storage::NodeStore& nodes,
                                              Duration stale_after) {
  std::set<std::string> names;
  std::string after;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Node> some,
                           nodes.ListNodesAfter(after, kNodesAtOnce, stale_after,
                                                storage::NodeStore::Benchmarks::kYes));
    more = some.size() == static_cast<size_t>(kNodesAtOnce);
    for (const v1::Node& node : some) {
      ASSAY_ASSIGN_OR_RETURN(const bool matches, campaign::NodeMatches(filter, node));
      if (matches) names.insert(node.description().name());
      after = node.description().name();
    }
  }
  return names;
}

}  // namespace

FleetView::FleetView(const Environment& environment, const Options& options,
                     const Sessions& sessions, Sources sources)
    : environment_(environment),
      options_(options),
      sessions_(sessions),
      sources_(std::move(sources)) {}

Result<std::shared_ptr<const FleetView::Snapshot>> FleetView::Latest() {
  std::shared_ptr<const Snapshot> previous;
  {
    MutexLock lock(mutex_);
    // While another thread is reading a new snapshot, return the previous one. If there is none,
    // wait for the first snapshot.
    while (reading_ && !latest_) changed_.Wait(mutex_);
    const bool fresh = latest_ && environment_.clock.Now() - latest_->time < options_.fleet_period;
    if (fresh || reading_) return latest_;
    reading_ = true;
    previous = latest_;
  }
  std::shared_ptr<const Snapshot> read;
  const Status status = Guarded("ReadFleet", [&]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(read, Read(previous.get()));
    return Status::Ok();
  });
  MutexLock lock(mutex_);
  reading_ = false;
  changed_.NotifyAll();
  if (!status.ok()) return status;
  latest_ = read;
  return read;
}

Result<FleetView::Rows> FleetView::Matching(const Snapshot& snapshot, const std::string& filter) {
  if (filter.empty()) return snapshot.rows;
  const Result<Filter> parsed = ParseFilter(filter);
  if (!parsed.ok()) return parsed.status().WithContext("filter");
  ASSAY_RETURN_IF_ERROR(campaign::CheckNodeFilter(*parsed));
  Rows rows;
  if (Mentions(*parsed, "benchmark")) {
    ASSAY_ASSIGN_OR_RETURN(const std::set<std::string> names,
                           NamesOfMatching(*parsed, environment_.nodes, options_.Silence()));
    std::copy_if(snapshot.rows.begin(), snapshot.rows.end(), std::back_inserter(rows),
                 [&](const auto& row) { return names.contains(row->node.name()); });
    return rows;
  }
  for (const std::shared_ptr<const Row>& row : snapshot.rows) {
    ASSAY_ASSIGN_OR_RETURN(const bool matches, campaign::NodeMatches(*parsed, row->facts));
    if (matches) rows.push_back(row);
  }
  return rows;
}

Result<std::shared_ptr<const FleetView::Snapshot>> FleetView::Read(const Snapshot* previous) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->number = previous == nullptr ? 1 : previous->number + 1;
  snapshot->time = environment_.clock.Now();
  v1::FleetSummary& summary = snapshot->summary;
  *summary.mutable_time() = schema::ToTimestamp(environment_.clock.WallNow());
  ASSAY_ASSIGN_OR_RETURN(
      std::vector<v1::Node> nodes,
      environment_.nodes.ListNodes(options_.Silence(), storage::NodeStore::Benchmarks::kNo));
  const auto any = [&](bool simulated, bool with_gpu) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const v1::Node& node) {
      const v1::NodeInventory& inventory = node.description().inventory();
      return inventory.simulated() == simulated && (!with_gpu || !inventory.gpus().empty());
    });
  };
  summary.set_simulated(any(true, false) && !any(false, true));
  ASSAY_ASSIGN_OR_RETURN(const Findings findings, ReadFindings(nodes));
  ASSAY_RETURN_IF_ERROR(AddIncidents(summary));
  ASSAY_RETURN_IF_ERROR(AddCampaigns(summary));
  std::map<std::string, std::shared_ptr<const Row>> known;  // By node id.
  if (previous != nullptr) {
    for (const std::shared_ptr<const Row>& row : previous->rows) known[row->node.node_id()] = row;
  }
  for (v1::Node& node : nodes) {
    auto row = std::make_shared<Row>();
    row->node = NodeOf(node, findings);
    row->changed = snapshot->number;
    if (row->node.simulated() == summary.simulated()) CountNode(row->node, summary);
    const auto old = known.find(row->node.node_id());
    if (old != known.end() && IsSameButForNoise(row->node, *old->second->reference)) {
      row->changed = old->second->changed;
      row->reference = old->second->reference;
    } else {
      row->reference = std::make_shared<const v1::FleetNode>(row->node);
    }
    LeaveOutUnfiltered(*node.mutable_description());
    row->facts = std::move(node);
    snapshot->rows.push_back(std::move(row));
  }
  return std::shared_ptr<const Snapshot>(std::move(snapshot));
}

Result<FleetView::Findings> FleetView::ReadFindings(const std::vector<v1::Node>& nodes) {
  Findings findings;
  std::set<bool> kinds;  // Whether simulated.
  for (const v1::Node& node : nodes) kinds.insert(node.description().inventory().simulated());
  for (const bool simulated : kinds) {
    ASSAY_ASSIGN_OR_RETURN(const v1::ListOutliersResponse found, sources_.outliers(simulated));
    for (const v1::Outlier& outlier : found.outliers()) {
      // An outlier of several GPUs or of a node says nothing about one GPU.
      if (outlier.place().gpu_uuids_size() != 1) continue;
      const auto distance = [](const v1::OutlierCase& one) { return std::abs(1 - one.ratio()); };
      for (const v1::OutlierCase& one : outlier.cases()) {
        const auto [worst, added] =
            findings.outliers.try_emplace(outlier.place().gpu_uuids(0), one);
        if (!added && distance(one) <= distance(worst->second)) continue;
        worst->second = one;
        worst->second.set_kind(outlier.kind());
      }
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::PlaceRegressions> places,
                         environment_.analysis.CountOpenRegressions(kMostPlaces));
  for (const storage::PlaceRegressions& place : places) {
    // A regression of several GPUs concerns what connects them, so it counts for their nodes.
    if (place.gpu_uuids.size() == 1) {
      findings.gpu_regressions[place.gpu_uuids[0]] += place.count;
      continue;
    }
    for (const std::string& name : place.node_names) findings.node_regressions[name] += place.count;
  }
  return findings;
}

Status FleetView::AddIncidents(v1::FleetSummary& summary) {
  storage::RegressionQuery query;
  query.simulated = summary.simulated();
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Incident> incidents,
                         environment_.analysis.ListIncidents(query));
  int confirmed = 0;
  int detected = 0;
  for (const v1::Incident& incident : incidents) {
    if (incident.state() == v1::REGRESSION_STATE_CONFIRMED) ++confirmed;
    if (incident.state() == v1::REGRESSION_STATE_DETECTED) ++detected;
  }
  summary.set_confirmed_incident_count(confirmed);
  summary.set_detected_incident_count(detected);
  return Status::Ok();
}

Status FleetView::AddCampaigns(v1::FleetSummary& summary) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Campaign> campaigns,
                         environment_.jobs.ListActiveCampaigns(kMostCampaigns));
  int examined = 0;
  int stalled = 0;
  for (const v1::Campaign& campaign : campaigns) {
    const int queued = campaign.jobs().queued();
    if (campaign.jobs().running() > 0 || queued == 0 || campaign.has_pause_time()) continue;
    if (examined == kMostExamined) break;
    ++examined;
    ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::WaitingJobs> waiting,
                           sources_.waiting(campaign.campaign_id()));
    int jobs = 0;
    for (const v1::WaitingJobs& some : waiting) jobs += some.jobs();
    if (jobs >= queued) ++stalled;
  }
  summary.set_active_campaign_count(static_cast<int>(campaigns.size()));
  summary.set_stalled_campaign_count(stalled);
  return Status::Ok();
}

v1::FleetNode FleetView::NodeOf(const v1::Node& node, const Findings& findings) const {
  const v1::NodeDescription& description = node.description();
  const v1::NodeInventory& inventory = description.inventory();
  const auto count_of = [](const std::map<std::string, int>& counts, const std::string& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  };
  v1::FleetNode row;
  row.set_node_id(description.node_id());
  row.set_name(description.name());
  row.set_state(node.state());
  row.set_quarantine(node.quarantine());
  if (node.has_cordon()) *row.mutable_cordon() = node.cordon();
  *row.mutable_last_heartbeat_time() = node.last_heartbeat_time();
  row.set_provider(description.provider());
  row.set_region(description.region());
  *row.mutable_labels() = description.labels();
  row.set_driver_version(inventory.driver_version());
  row.set_agent_version(description.agent_version());
  if (description.has_price_per_hour()) row.set_price_per_hour(description.price_per_hour());
  row.set_simulated(inventory.simulated());
  row.set_running_job_count(node.job_ids_size());
  for (const v1::HealthFinding& finding : description.health()) {
    const bool error = finding.severity() == v1::HealthFinding::SEVERITY_ERROR;
    if (error) row.set_health_error_count(row.health_error_count() + 1);
    if (!error) row.set_health_warning_count(row.health_warning_count() + 1);
  }
  row.set_regression_count(count_of(findings.node_regressions, description.name()));
  row.set_cpu_model(inventory.cpu().model());
  const Telemetry telemetry = sessions_.FindTelemetry(description.node_id(), options_.Silence());
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    v1::FleetGpu& one = *row.add_gpus();
    one.set_index(gpu.index());
    one.set_uuid(gpu.uuid());
    one.set_model(gpu.model());
    one.set_form_factor(gpu.form_factor());
    one.set_mig_profile(gpu.mig_profile());
    if (gpu.has_sm_clock_max_mhz()) one.set_sm_clock_max_mhz(gpu.sm_clock_max_mhz());
    one.set_regression_count(count_of(findings.gpu_regressions, gpu.uuid()));
    if (const auto outlier = findings.outliers.find(gpu.uuid());
        outlier != findings.outliers.end()) {
      one.set_outlier_ratio(outlier->second.ratio());
      one.set_outlier_kind(outlier->second.kind());
    }
    if (!telemetry) continue;
    const auto read =
        std::lower_bound(telemetry->begin(), telemetry->end(), gpu.index(),
                         [](const v1::GpuTelemetry& a, int index) { return a.index() < index; });
    if (read != telemetry->end() && read->index() == gpu.index()) AddTelemetry(*read, one);
  }
  return row;
}

FleetChanges::Changes FleetChanges::Since(const FleetView::Snapshot& snapshot,
                                          const FleetView::Rows& matching) {
  Changes changes;
  std::vector<std::string> ids;
  ids.reserve(matching.size());
  for (const std::shared_ptr<const FleetView::Row>& row : matching) {
    const std::string& id = row->node.node_id();
    ids.push_back(id);
    const bool seen = std::binary_search(seen_ids_.begin(), seen_ids_.end(), id);
    if (!seen || row->changed > seen_number_) changes.rows.push_back(row);
  }
  std::sort(ids.begin(), ids.end());
  std::set_difference(seen_ids_.begin(), seen_ids_.end(), ids.begin(), ids.end(),
                      std::back_inserter(changes.removed));
  v1::FleetSummary summary = snapshot.summary;
  summary.clear_time();
  changes.summary_changed = summary.SerializeAsString() != seen_summary_.SerializeAsString();
  seen_number_ = snapshot.number;
  seen_ids_ = std::move(ids);
  seen_summary_ = std::move(summary);
  return changes;
}

}  // namespace assay::coordinator
