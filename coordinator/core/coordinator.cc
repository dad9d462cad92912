#include "coordinator/core/coordinator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "campaign/accept_rule.h"
#include "campaign/expand.h"
#include "campaign/fleet_schemas.h"
#include "campaign/node_fields.h"
#include "campaign/spec_checks.h"
#include "common/log.h"
#include "common/text.h"
#include "common/uuid.h"
#include "common/violations.h"
#include "model/filter.h"
#include "model/page.h"
#include "wire/bounds.h"
#include "wire/import_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

// Minimum number of nodes that ListNodes reads with one query.
constexpr int kMinNodes = 64;

// Removes what NODE_VIEW_BASIC leaves out.
void LeaveOutDetails(v1::NodeDescription& node) {
  node.clear_benchmarks();
  // Keep the names of failed checks, which tables show, but not their messages.
  for (v1::HealthFinding& finding : *node.mutable_health()) finding.clear_message();
  node.mutable_inventory()->clear_gpu_links();
}

// Returns the part of `sent` that an import may set.
v1::CaseResult ResultOf(const v1::CaseResult& sent, const v1::ImportResultsRequest& request) {
  v1::CaseResult result;
  result.set_epoch(1);
  result.set_outcome(sent.outcome());
  if (sent.outcome() == v1::CASE_OUTCOME_FAILED) {
    result.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
    result.mutable_failure()->set_reason(sent.failure().reason());
    result.mutable_failure()->set_message(sent.failure().message());
  }
  *result.mutable_parameters() = sent.parameters();
  result.set_benchmark(sent.benchmark());
  result.set_benchmark_version(sent.benchmark_version());
  *result.mutable_measurements() = sent.measurements();
  for (v1::Measurement& measurement : *result.mutable_measurements()) measurement.clear_samples();
  if (sent.has_verification()) *result.mutable_verification() = sent.verification();
  if (!sent.conditions().flags().empty()) {
    *result.mutable_conditions()->mutable_flags() = sent.conditions().flags();
  }
  if (sent.has_start_time()) *result.mutable_start_time() = sent.start_time();
  if (sent.has_end_time()) *result.mutable_end_time() = sent.end_time();
  *result.mutable_environment() = request.environment();
  result.mutable_provenance()->set_imported_from(request.provenance().imported_from());
  *result.mutable_provenance()->mutable_node_names() = request.provenance().node_names();
  return result;
}

Status CheckRequestId(const std::string& request_id) {
  if (request_id.empty() || IsUuid(request_id)) return Status::Ok();
  return InvalidArgument("request_id \"" + Cut(request_id) + "\" is not a UUID in lower case");
}

// Returns an error if a person's text is too long to be stored and shown.
Status CheckText(const std::string& field, const std::string& text) {
  constexpr size_t kMostBytes = 1000;
  if (text.size() <= kMostBytes) return Status::Ok();
  return InvalidArgument(field + " has " + std::to_string(text.size()) +
                         " bytes; at most 1000 are allowed");
}

// Returns PERMISSION_DENIED if the campaign is another submitter's.
Status CheckOwner(const v1::Campaign& campaign, const Identity& caller) {
  if (caller.role != Role::kSubmitter || campaign.submitted_by() == caller.id) return Status::Ok();
  return Status(
             Code::kPermissionDenied, Reason::kNotPermitted,
             "campaign " + campaign.name() + " was submitted by " + Quote(campaign.submitted_by()))
      .WithHint("a submitter may change its own campaigns; an operator may change any");
}

}  // namespace

Coordinator::Coordinator(const Environment& environment, Options options)
    : environment_(environment),
      options_(std::move(options)),
      estimator_(environment_, options_),
      leadership_(environment_, options_),
      grace_(environment_.clock, options_.lease),
      sessions_(environment_.clock),
      quarantine_(environment_, sessions_),
      running_(environment_.clock),
      attempts_(environment_, options_, running_, sessions_, grace_, leadership_,
                [this](const Attempts::Ended& ended) { scheduler_->OnAttemptEnded(ended); }),
      results_(environment_, running_, sessions_, attempts_,
               [this](const std::string& campaign_id) { watchers_.Notify(campaign_id); }),
      schedules_(environment_, options_, leadership_,
                 {[this](const v1::CampaignSpec& spec) { return CheckScheduled(spec); },
                  [this](const v1::CampaignSpec& spec, const std::string& campaign_id) {
                    v1::CreateCampaignRequest request;
                    *request.mutable_spec() = spec;
                    return Create(request, campaign_id, spec.submitted_by(), spec.schedule());
                  },
                  [this](const std::string& campaign_id) {
                    return CancelCampaign(campaign_id).status();
                  }}),
      heartbeats_(std::make_shared<Heartbeats>(environment_, options_, running_, sessions_,
                                               attempts_, outage_)),
      scheduler_(std::make_shared<Scheduler>(environment_, options_, leadership_, running_,
                                             sessions_, quarantine_, attempts_, watchers_, outage_,
                                             grace_, [this] { return schedules_.RunDue(); })),
      questions_(environment_),
      figures_(environment_, running_),
      judge_(environment_, options_, leadership_, [this] { scheduler_->Kick(); }),
      fleet_view_(environment_, options_, sessions_,
                  {[this](bool simulated) {
                     v1::ListOutliersRequest request;
                     request.set_simulated(simulated);
                     return ListOutliers(request);
                   },
                   [this](const std::string& campaign_id) { return ListWaiting(campaign_id); }}) {}

void Coordinator::Start(Place place) {
  leadership_.Stand(std::move(place));
  scheduler_->Start();
}

void Coordinator::Shutdown(Duration reconnect_after) {
  scheduler_->Stop();
  leadership_.Resign();
  sessions_.CloseAll(reconnect_after, "",
                     Unavailable("the coordinator is shutting down", Reason::kShuttingDown));
}

std::shared_ptr<Session> Coordinator::OpenSession(std::shared_ptr<SessionSink> sink,
                                                  const std::string& dial_address) {
  const SessionServices services{environment_, options_,
                                 sessions_,    attempts_,
                                 *heartbeats_, results_,
                                 outage_,      leadership_,
                                 quarantine_,  [this](const Agent& agent) { NoteAttached(agent); }};
  return std::make_shared<Session>(services, std::move(sink), dial_address);
}

void Coordinator::OnAttached(std::function<void(const Agent&)> callback) {
  MutexLock lock(mutex_);
  on_attached_ = std::move(callback);
}

void Coordinator::NoteAttached(const Agent& agent) {
  scheduler_->Kick();
  std::function<void(const Agent&)> callback;
  {
    MutexLock lock(mutex_);
    callback = on_attached_;
  }
  if (callback) callback(agent);
}

void Coordinator::OnNotification() {
  scheduler_->Kick();
  watchers_.NotifyAll();
}

Status Coordinator::CheckBaselines(const v1::CampaignSpec& spec) {
  Violations violations;
  for (int i = 0; i < spec.accept_size(); ++i) {
    const Result<campaign::AcceptRule> rule = campaign::ParseAcceptRule(spec.accept(i).text());
    if (!rule.ok() || rule->baseline.empty()) continue;
    const Status known = environment_.analysis.GetBaseline(rule->baseline).status();
    if (known.ok()) continue;
    if (known.code() != Code::kNotFound) return known;
    violations.Add("accept[" + std::to_string(i) + "]",
                   known.message() + (known.hint().empty() ? "" : "; " + known.hint()),
                   spec.accept(i).line());
  }
  return violations.ToStatus("the campaign", Reason::kInvalidCampaign);
}

Result<campaign::Expansion> Coordinator::Expand(const v1::CreateCampaignRequest& request,
                                                std::vector<v1::Node>& fleet) {
  ASSAY_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  ASSAY_RETURN_IF_ERROR(schema::CheckBounds(request.spec(), Reason::kInvalidCampaign));
  ASSAY_ASSIGN_OR_RETURN(fleet, environment_.nodes.ListNodes(options_.Silence(),
                                                             storage::NodeStore::Benchmarks::kYes));
  Result<campaign::Expansion> expanded = campaign::ExpandCampaign(request.spec(), fleet);
  if (expanded.ok()) ASSAY_RETURN_IF_ERROR(CheckBaselines(request.spec()));
  if (expanded.status().reason() == Reason::kNodesAbsent && grace_.Active()) {
    return expanded.status().WithHint(
        "agents are still connecting to this coordinator: try again in a minute");
  }
  return expanded;
}

Result<v1::CreateCampaignResponse> Coordinator::PreviewCampaign(
    const v1::CreateCampaignRequest& request) {
  std::vector<v1::Node> fleet;
  ASSAY_ASSIGN_OR_RETURN(const campaign::Expansion expansion, Expand(request, fleet));
  v1::CreateCampaignResponse response;
  *response.mutable_campaign() = campaign::Preview(request.spec(), expansion);
  Result<v1::Estimate> estimate = estimator_.OfExpansion(expansion, request.spec().effort(), fleet);
  if (estimate.ok()) *response.mutable_estimate() = *std::move(estimate);
  return response;
}

Result<std::optional<v1::Campaign>> Coordinator::CheckScheduled(const v1::CampaignSpec& spec) {
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = spec;
  std::vector<v1::Node> fleet;
  const Result<campaign::Expansion> expansion = Expand(request, fleet);
  if (expansion.ok()) return std::optional(campaign::Preview(spec, *expansion));
  const bool nodes_absent = expansion.status().reason() == Reason::kNodesAbsent;
  if (!nodes_absent && expansion.status().reason() != Reason::kInvalidCampaign) {
    return expansion.status();
  }
  if (fleet.empty()) {
    return FailedPrecondition("no node has connected yet, so the campaign cannot be checked")
        .WithHint("start an agent first");
  }
  if (!nodes_absent) {
    const std::vector<v1::BenchmarkSchema> schemas =
        campaign::FleetSchemas(fleet, [](const v1::Node&) { return true; });
    ASSAY_RETURN_IF_ERROR(campaign::CheckCampaign(spec, schemas).status());
  }
  ASSAY_RETURN_IF_ERROR(CheckBaselines(spec));
  return std::optional<v1::Campaign>();
}

Result<v1::Campaign> Coordinator::CreateCampaign(const v1::CreateCampaignRequest& request,
                                                 const Identity& caller) {
  return Create(request, NewUuid(), caller.id, "");
}

Result<v1::Campaign> Coordinator::Create(const v1::CreateCampaignRequest& request,
                                         const std::string& campaign_id,
                                         const std::string& submitted_by,
                                         const std::string& schedule) {
  std::vector<v1::Node> fleet;
  ASSAY_ASSIGN_OR_RETURN(campaign::Expansion expansion, Expand(request, fleet));
  storage::NewCampaign campaign;
  campaign.campaign_id = campaign_id;
  campaign.request_id = request.request_id().empty() ? NewUuid() : request.request_id();
  campaign.spec = request.spec();
  campaign.spec.set_submitted_by(submitted_by);
  campaign.spec.set_schedule(schedule);
  campaign.spec.clear_reruns();
  *campaign.spec.mutable_left_out() = {expansion.left_out.begin(), expansion.left_out.end()};
  *campaign.spec.mutable_coverage() = std::move(expansion.coverage);
  campaign.jobs = std::move(expansion.jobs);
  ASSAY_ASSIGN_OR_RETURN(v1::Campaign created, environment_.jobs.CreateCampaign(campaign));
  Log().info("campaign {} ({}): {} jobs, {} cases", created.name(), created.campaign_id(),
             campaign.jobs.size(), expansion.case_runs);
  scheduler_->Kick();
  return created;
}

Result<v1::Campaign> Coordinator::GetCampaign(const std::string& id_or_name) {
  ASSAY_ASSIGN_OR_RETURN(v1::Campaign campaign, environment_.jobs.GetCampaign(id_or_name));
  if (campaign.jobs().queued() == 0 || campaign.has_pause_time()) return campaign;
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::WaitingJobs> waiting, ListWaiting(campaign.campaign_id()));
  for (v1::WaitingJobs& jobs : waiting) *campaign.add_waiting() = std::move(jobs);
  return campaign;
}

Result<std::vector<v1::WaitingJobs>> Coordinator::ListWaiting(const std::string& campaign_id) {
  // Just after startup or a database outage, a node may seem silent merely because its heartbeats
  // were not recorded. Do not consider nodes absent then, unless they were removed.
  const storage::JobStore::Silence silence =
      !grace_.Active() ? storage::JobStore::Silence{2 * options_.heartbeat, options_.Silence()}
                       : storage::JobStore::Silence{Duration::max(), Duration::max()};
  return environment_.jobs.ListWaiting(campaign_id, silence);
}

Result<v1::Campaign> Coordinator::CancelCampaign(const std::string& id_or_name,
                                                 const Identity& caller) {
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign found, environment_.jobs.GetCampaign(id_or_name));
  ASSAY_RETURN_IF_ERROR(CheckOwner(found, caller));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::JobEpoch> running,
                         environment_.jobs.CancelCampaign(found.campaign_id()));
  attempts_.Cancel(running);
  watchers_.Notify(found.campaign_id());
  // Normally, a campaign gets its verdict when its last job ends. If no job was running, none will
  // end, so trigger the verdict here.
  scheduler_->JudgeSoon(found.campaign_id());
  return environment_.jobs.GetCampaign(found.campaign_id());
}

Result<v1::Campaign> Coordinator::SetPaused(const std::string& id_or_name, bool paused,
                                            const Identity& caller) {
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign found, environment_.jobs.GetCampaign(id_or_name));
  ASSAY_RETURN_IF_ERROR(CheckOwner(found, caller));
  const std::string& id = found.campaign_id();
  ASSAY_RETURN_IF_ERROR(environment_.jobs.SetPaused(id, paused, caller.id));
  Log().info("campaign {} ({}) is {}", found.name(), id, paused ? "paused" : "resumed");
  watchers_.Notify(id);
  scheduler_->Kick();
  return environment_.jobs.GetCampaign(id);
}

Result<v1::Campaign> Coordinator::RerunCampaign(const v1::RerunCampaignRequest& request,
                                                const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign found,
                         environment_.jobs.GetCampaign(request.campaign()));
  ASSAY_RETURN_IF_ERROR(CheckOwner(found, caller));
  if (found.spec().benchmarks().empty()) {
    return FailedPrecondition("campaign " + Quote(found.name()) +
                              " was imported: another program measured it");
  }
  const std::string& id = found.campaign_id();
  ASSAY_RETURN_IF_ERROR(environment_.jobs.RerunCampaign(
      {id, request.request_id().empty() ? NewUuid() : request.request_id(), request.failed_only(),
       campaign::RepetitionsOf(found.spec()), caller.id}));
  Log().info("campaign {} ({}) runs again", found.name(), id);
  watchers_.Notify(id);
  scheduler_->Kick();
  return environment_.jobs.GetCampaign(id);
}

Result<v1::ImportResultsResponse> Coordinator::ImportResults(
    const v1::ImportResultsRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const storage::ImportedCampaign imported,
                         ToImportedCampaign(request, environment_.clock.WallNow()));
  ASSAY_ASSIGN_OR_RETURN(const storage::ImportOutcome outcome,
                         environment_.results.Import(imported));
  v1::ImportResultsResponse response;
  response.set_already_imported(!outcome.fresh);
  ASSAY_ASSIGN_OR_RETURN(*response.mutable_campaign(),
                         environment_.jobs.GetCampaign(outcome.campaign_id));
  if (outcome.fresh) {
    Log().info("campaign {} ({}): {} results imported from {}", request.name(), outcome.campaign_id,
               imported.results.size(), request.provenance().imported_from());
    environment_.observer.ResultsIngested("imported", static_cast<int>(imported.results.size()));
  }
  return response;
}

Result<std::vector<v1::FleetBenchmark>> Coordinator::ListFleetBenchmarks() {
  ASSAY_ASSIGN_OR_RETURN(
      std::vector<v1::Node> nodes,
      environment_.nodes.ListNodes(options_.Silence(), storage::NodeStore::Benchmarks::kYes));
  std::erase_if(nodes,
                [](const v1::Node& node) { return node.state() != v1::NODE_STATE_CONNECTED; });
  std::vector<v1::FleetBenchmark> benchmarks;
  for (v1::BenchmarkSchema& schema :
       campaign::FleetSchemas(nodes, [](const v1::Node&) { return true; })) {
    v1::FleetBenchmark& benchmark = benchmarks.emplace_back();
    for (const v1::Node& node : nodes) {
      for (const v1::BenchmarkSchema& own : node.description().benchmarks()) {
        if (own.name() == schema.name() && own.version() == schema.version() &&
            own.unsupported_reason().empty()) {
          benchmark.add_node_names(node.description().name());
        }
      }
    }
    *benchmark.mutable_schema() = std::move(schema);
  }
  return benchmarks;
}

Result<Page<v1::Node>> Coordinator::ListNodes(const std::string& filter, v1::NodeView view,
                                              const PageRequest& request) {
  constexpr char kTokens = 'n';
  const Result<Filter> parsed = ParseFilter(filter);
  if (!parsed.ok()) return parsed.status().WithContext("filter");
  ASSAY_ASSIGN_OR_RETURN(std::string after, ParseTextToken(kTokens, request.token));
  using Benchmarks = storage::NodeStore::Benchmarks;
  const bool full = view == v1::NODE_VIEW_FULL;
  const bool benchmarks = full || Mentions(*parsed, "benchmark");
  // Choose how many nodes to read per query. If the descriptions of their benchmarks are included,
  // nodes are so large that about 40 fill a page. Otherwise, read enough nodes for a whole page at
  // once.
  const int limit = benchmarks ? kMinNodes : std::max(kMinNodes, PageSize(request) + 1);
  PageFiller<v1::Node> filler(kTokens, request);
  bool more = true;
  while (more) {
    ASSAY_ASSIGN_OR_RETURN(
        std::vector<v1::Node> nodes,
        environment_.nodes.ListNodesAfter(after, limit, options_.Silence(),
                                          benchmarks ? Benchmarks::kYes : Benchmarks::kNo));
    more = nodes.size() == static_cast<size_t>(limit);
    if (more) after = nodes.back().description().name();
    if (!filter.empty()) {
      ASSAY_ASSIGN_OR_RETURN(nodes, campaign::MatchingNodes(*parsed, nodes));
    }
    for (v1::Node& node : nodes) {
      if (!full) LeaveOutDetails(*node.mutable_description());
      std::string name = node.description().name();
      if (!filler.Add(std::move(node), std::move(name))) return std::move(filler).Take();
    }
  }
  return std::move(filler).Take();
}

Result<v1::Node> Coordinator::GetNode(const std::string& id_or_name) {
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, environment_.nodes.GetNode(id_or_name, options_.Silence()));
  if (const Telemetry gpus =
          sessions_.FindTelemetry(node.description().node_id(), options_.Silence())) {
    node.mutable_telemetry()->Assign(gpus->begin(), gpus->end());
  }
  // A stopped job is removed from the node's database record immediately, but its processes may
  // keep running briefly. Therefore, add the jobs that the agent still reports.
  for (const std::string& job_id : sessions_.RunningJobIds(node.description().node_id())) {
    if (std::find(node.job_ids().begin(), node.job_ids().end(), job_id) == node.job_ids().end()) {
      node.add_job_ids(job_id);
    }
  }
  return node;
}

Result<bool> Coordinator::IsEnrolled(const std::string& node_id) const {
  if (environment_.identities == nullptr) return false;
  const auto identity = environment_.identities->GetIdentity(node_id);
  if (identity.status().code() == Code::kNotFound) return false;
  if (!identity.ok()) return identity.status();
  return true;
}

Result<v1::Node> Coordinator::RemoveNode(const std::string& id_or_name) {
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, GetNode(id_or_name));
  const Duration silent =
      environment_.clock.WallNow() - schema::FromTimestamp(node.last_heartbeat_time());
  const bool returns =
      node.state() == v1::NODE_STATE_CONNECTED || (grace_.Active() && silent < options_.outage);
  ASSAY_ASSIGN_OR_RETURN(const bool enrolled, IsEnrolled(node.description().node_id()));
  if (returns && !enrolled && node.dial_address().empty()) {
    return FailedPrecondition("node " + Quote(node.description().name()) +
                              ": its agent is connected; stop it first, or it would come back at "
                              "once");
  }
  if (enrolled && node.job_ids().empty()) {
    // Remove the node's identity first. Otherwise, the agent could reconnect before the node itself
    // is removed. A ban on the identity remains in force.
    const Status removed = environment_.identities->RemoveIdentity(node.description().node_id());
    if (removed.code() == Code::kUnavailable) return removed;
  }
  ASSAY_RETURN_IF_ERROR(environment_.nodes.RemoveNode(node.description().node_id()));
  sessions_.Close(node.description().node_id(),
                  FailedPrecondition("the node was removed from the fleet", Reason::kNodeRemoved));
  return node;
}

Result<Page<v1::Campaign>> Coordinator::ListCampaigns(const PageRequest& page) {
  return environment_.jobs.ListCampaigns(page);
}

Result<Page<v1::Job>> Coordinator::ListJobs(const std::string& campaign_id_or_name,
                                            const PageRequest& page) {
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign campaign,
                         environment_.jobs.GetCampaign(campaign_id_or_name));
  return environment_.jobs.ListJobs(campaign.campaign_id(), page);
}

Result<storage::JobStore::JobChanges> Coordinator::ListJobChanges(const std::string& campaign_id,
                                                                  int64_t revision) {
  return environment_.jobs.ListJobChanges(campaign_id, revision);
}

Result<storage::ResultPage> Coordinator::ListResults(const std::string& filter,
                                                     const PageRequest& page,
                                                     const std::string& order) {
  return environment_.results.List(filter, page, order);
}

Result<v1::GroupResultsResponse> Coordinator::GroupResults(const v1::GroupResultsRequest& request) {
  return environment_.results.Group(request);
}

Result<v1::StoredResult> Coordinator::GetResult(const std::string& result_id) {
  return environment_.results.Get(result_id);
}

Result<v1::ListRegressionsResponse> Coordinator::ListRegressions(
    const v1::ListRegressionsRequest& request, const PageRequest& page) {
  storage::RegressionQuery query;
  query.include_closed = request.include_closed();
  query.incident_id = request.incident_id();
  query.node_name = request.node_name();
  query.simulated = request.simulated();
  v1::ListRegressionsResponse response;
  ASSAY_ASSIGN_OR_RETURN(const Page<v1::Regression> found,
                         environment_.analysis.ListRegressions(query, page));
  response.mutable_regressions()->Assign(found.items.begin(), found.items.end());
  response.set_next_page_token(found.next_token);
  if (found.items.empty()) ASSAY_RETURN_IF_ERROR(CheckNodeName(request.node_name()));
  if (page.token.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Incident> incidents,
                           environment_.analysis.ListIncidents(query));
    response.mutable_incidents()->Assign(incidents.begin(), incidents.end());
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::JudgeState state, environment_.analysis.GetJudgeState());
  if (state.judged_until) {
    *response.mutable_judged_until() = schema::ToTimestamp(*state.judged_until);
  }
  return response;
}

Result<v1::ListOutliersResponse> Coordinator::ListOutliers(const v1::ListOutliersRequest& request) {
  // Leave out older runs, which say nothing about the fleet of today.
  constexpr Duration kMostAge = std::chrono::hours(24 * 30);
  ASSAY_ASSIGN_OR_RETURN(v1::ListOutliersResponse response,
                         environment_.analysis.ListOutliers(request));
  const WallTime oldest = environment_.clock.WallNow() - kMostAge;
  auto& outliers = *response.mutable_outliers();
  for (v1::Outlier& outlier : outliers) {
    auto& cases = *outlier.mutable_cases();
    cases.erase(std::remove_if(cases.begin(), cases.end(),
                               [&](const v1::OutlierCase& one) {
                                 return schema::FromTimestamp(one.end_time()) < oldest;
                               }),
                cases.end());
  }
  outliers.erase(std::remove_if(outliers.begin(), outliers.end(),
                                [](const v1::Outlier& one) { return one.cases().empty(); }),
                 outliers.end());
  if (outliers.empty()) ASSAY_RETURN_IF_ERROR(CheckNodeName(request.node_name()));
  return response;
}

Status Coordinator::CheckNodeName(const std::string& name) {
  return name.empty() ? Status::Ok() : GetNode(name).status();
}

Result<std::vector<v1::Baseline>> Coordinator::ListBaselines() {
  return environment_.analysis.ListBaselines();
}

Result<v1::Baseline> Coordinator::GetBaseline(const std::string& name) {
  return environment_.analysis.GetBaseline(name);
}

Result<v1::Annotation> Coordinator::CreateAnnotation(const v1::Annotation& annotation,
                                                     const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckText("text", annotation.text()));
  if (annotation.text().empty()) return InvalidArgument("text: an annotation needs a text");
  v1::Annotation stored = annotation;
  stored.set_annotation_id(NewUuid());
  stored.set_created_by(caller.id);
  if (!stored.has_time())
    *stored.mutable_time() = schema::ToTimestamp(environment_.clock.WallNow());
  if (!stored.node_name().empty()) {
    ASSAY_ASSIGN_OR_RETURN(const v1::Node node, GetNode(stored.node_name()));
    stored.set_node_name(node.description().name());
  }
  ASSAY_RETURN_IF_ERROR(environment_.analysis.PutAnnotation(stored));
  return stored;
}

Result<int> Coordinator::AcknowledgeRegression(const v1::AcknowledgeRegressionRequest& request,
                                               const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckText("note", request.note()));
  const std::string by = caller.id.empty() ? std::string(RoleName(caller.role)) : caller.id;
  return environment_.analysis.Acknowledge(request.id(), by, request.note(), request.false_alarm());
}

Status Coordinator::AddDialAddress(const std::string& address) {
  return environment_.nodes.AddDialAddress(address);
}

Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request,
                                                     WallTime now) {
  ASSAY_RETURN_IF_ERROR(schema::CheckImport(request, now));
  storage::ImportedCampaign imported;
  storage::NewCampaign& campaign = imported.campaign;
  campaign.campaign_id = NewUuid();
  campaign.request_id = request.request_id();
  campaign.spec.set_name(request.name());
  std::map<std::pair<std::string, int>, size_t> jobs;  // By benchmark and version.
  for (const v1::CaseResult& sent : request.results()) {
    const auto [known, added] =
        jobs.try_emplace({sent.benchmark(), sent.benchmark_version()}, campaign.jobs.size());
    if (added) {
      storage::NewJob& job = campaign.jobs.emplace_back();
      job.job_id = NewUuid();
      job.benchmark = sent.benchmark();
      job.benchmark_version = sent.benchmark_version();
      job.resource = v1::RESOURCE_KIND_GPU;
      job.world_size = std::max(1, request.environment().gpu_count());
      job.node_count = std::max(1, request.environment().node_count());
      job.repetition = 1;
    }
    storage::NewJob& job = campaign.jobs[known->second];
    v1::BenchmarkCase& one = job.cases.emplace_back();
    one.set_case_index(static_cast<int>(job.cases.size()) - 1);
    *one.mutable_parameters() = sent.parameters();
    v1::CaseResult& result = imported.results.emplace_back(ResultOf(sent, request));
    result.set_job_id(job.job_id);
    result.set_case_index(one.case_index());
  }
  return imported;
}

}  // namespace assay::coordinator
