// The stores in memory, for tests. They pass the suites of tests/contract.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/uuid.h"
#include "storage/analysis_store.h"
#include "storage/fleet_store.h"
#include "storage/identity_store.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/result_store.h"
#include "storage/schedule_store.h"
#include "storage/work_store.h"

namespace assay::storage {

// The in-memory database that all fake stores share. Every method of a store holds `mutex` while it
// runs, so the stores are thread-safe. The database must outlive the stores, and `clock` must
// outlive the database.
struct FakeDatabase {
  // The member node_ids holds the latest placement.
  struct JobRow : LeasedJob {
    v1::Job shown;         // Without epoch, cases_done and nodes.
    int64_t sequence = 0;  // Order of creation.
    int64_t revision = 0;  // Increases with every change.
    std::string owner;
    MonotonicTime lease_until{};
    MonotonicTime queued_at{};
    MonotonicTime not_before{};
    std::vector<std::string> avoid_node_ids;
    bool same_nodes = false;
    std::map<int, std::string> hashes;  // Payload hashes of its results, by case index.
  };

  struct CampaignRow {
    v1::Campaign shown;  // Without counts.
    std::string request_id;
    int64_t sequence = 0;
    std::vector<std::string> job_ids;  // In order of creation.
    bool cancel_requested = false;
  };

  struct NodeRow {
    v1::Node shown;     // Without state and jobs. Its description is the agent's.
    std::string owner;  // Empty: no session.
    MonotonicTime heard_at{};
    // The jobs that failed here since one last succeeded, and their campaigns.
    std::set<std::string> failed_jobs;
    std::set<std::string> failed_campaigns;
  };

  struct ResultRow {
    int64_t sequence = 0;
    v1::StoredResult stored;  // With samples.
  };

  struct JudgedLineage {
    Findings::Judged judged;
    bool simulated = false;
  };

  explicit FakeDatabase(Clock& the_clock) : clock(the_clock) {}

  // Returns false if another coordinator than the caller, whose term this is, schedules the fleet.
  bool IsTerm(int64_t term) const ASSAY_REQUIRES(mutex) { return term == 0 || term == leader.term; }

  // Inserts the campaign and its jobs, and returns the campaign's id. If a campaign with the same
  // request_id already exists, returns its id and inserts nothing. Returns ALREADY_EXISTS if
  // another campaign has the same campaign_id.
  Result<std::string> Insert(const NewCampaign& campaign) ASSAY_REQUIRES(mutex);
  // Adds a queued job at the end of the campaign.
  void AddJob(CampaignRow& campaign, const NewJob& job) ASSAY_REQUIRES(mutex);

  Clock& clock;
  Mutex mutex;
  int64_t next_sequence ASSAY_GUARDED_BY(mutex) = 1;
  std::map<std::string, JobRow> jobs ASSAY_GUARDED_BY(mutex);
  std::map<std::string, CampaignRow> campaigns ASSAY_GUARDED_BY(mutex);
  std::map<std::string, NodeRow> nodes ASSAY_GUARDED_BY(mutex);
  std::set<std::string> dial_addresses ASSAY_GUARDED_BY(mutex);
  std::vector<ResultRow> results ASSAY_GUARDED_BY(mutex);              // Oldest first.
  std::map<std::string, v1::Schemas> schemas ASSAY_GUARDED_BY(mutex);  // By hash.
  JudgeState judge_state ASSAY_GUARDED_BY(mutex);
  std::map<std::string, v1::Regression> regressions ASSAY_GUARDED_BY(mutex);  // By id.
  std::map<std::string, v1::Incident> incidents ASSAY_GUARDED_BY(mutex);      // By id.
  std::vector<v1::Outlier> outliers ASSAY_GUARDED_BY(mutex);
  std::map<std::string, JudgedLineage> judged ASSAY_GUARDED_BY(mutex);  // By lineage.
  // Stored only for dashboards. No method returns these lists.
  std::vector<Findings::DriverMedian> driver_medians ASSAY_GUARDED_BY(mutex);
  std::vector<Findings::DriverChange> driver_changes ASSAY_GUARDED_BY(mutex);
  std::vector<Findings::CaseCost> case_costs ASSAY_GUARDED_BY(mutex);
  std::vector<Findings::NodeFlag> node_flags ASSAY_GUARDED_BY(mutex);
  std::map<std::string, v1::Baseline> baselines ASSAY_GUARDED_BY(mutex);
  std::map<std::string, v1::Annotation> annotations ASSAY_GUARDED_BY(mutex);       // By id.
  std::map<std::string, v1::Schedule> schedules ASSAY_GUARDED_BY(mutex);           // By name.
  std::vector<StoredInvite> invites ASSAY_GUARDED_BY(mutex);                       // Oldest first.
  std::map<std::string, v1::EnrolledIdentity> identities ASSAY_GUARDED_BY(mutex);  // By id.
  int64_t identity_revision ASSAY_GUARDED_BY(mutex) = 1;
  std::vector<v1::EnrolmentAttempt> attempts ASSAY_GUARDED_BY(mutex);  // Newest first.
  const std::string fleet_id = NewUuid();
  Leader leader ASSAY_GUARDED_BY(mutex);
  std::optional<MonotonicTime> led_until ASSAY_GUARDED_BY(mutex);  // Absent: not led.
};

// A claim uses only nodes that FakeNodeStore knows.
class FakeJobStore : public JobStore {
 public:
  explicit FakeJobStore(FakeDatabase& database) : database_(database) {}

  Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) override;
  Result<v1::Campaign> GetCampaign(const std::string& id_or_name) override;
  Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page) override;
  Result<std::vector<v1::Campaign>> ListActiveCampaigns(int limit) override;
  Result<Page<v1::Job>> ListJobs(const std::string& campaign_id, const PageRequest& page) override;
  Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) override;
  Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                   const Silence& silence) override;
  Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) override;
  Status SetPaused(const std::string& campaign_id, bool paused, const std::string& by) override;
  Status RerunCampaign(const RerunRequest& request) override;
  Result<std::vector<LeasedJob>> ClaimJobs(const ClaimRequest& request) override;
  Result<std::vector<LeasedJob>> RenewLeases(const std::string& owner, Duration lease,
                                             const std::vector<ReportedJob>& jobs) override;
  Result<std::optional<LeasedJob>> GetAttempt(const ReportedJob& attempt) override;
  Result<std::vector<LeasedJob>> ListExpired(Duration ago, int limit) override;
  Result<std::vector<DrainedJob>> ListDrained(int limit) override;
  Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) override;
  Result<std::vector<std::string>> ListUnjudged() override;
  Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                    const std::vector<v1::RuleVerdict>& rules) override;
  Result<QueueStats> GetQueueStats() override;

 private:
  using JobRow = FakeDatabase::JobRow;
  using CampaignRow = FakeDatabase::CampaignRow;

  // Returns the jobs of a campaign in the order of creation. NOT_FOUND.
  Result<std::vector<JobRow*>> JobsOf(const std::string& campaign_id)
      ASSAY_REQUIRES(database_.mutex);
  v1::Campaign CampaignMessage(const CampaignRow& row) const ASSAY_REQUIRES(database_.mutex);
  v1::Job JobMessage(const JobRow& row) const ASSAY_REQUIRES(database_.mutex);
  // Returns the row of a job whose latest attempt has this epoch, else null.
  JobRow* Latest(const JobEpoch& job) ASSAY_REQUIRES(database_.mutex);
  // Like Latest, but also returns null if the job is not running.
  JobRow* Running(const JobEpoch& job) ASSAY_REQUIRES(database_.mutex);
  // Returns the job that the attempt ends, or null if it has no effect.
  JobRow* Ended(const FinishedAttempt& attempt) ASSAY_REQUIRES(database_.mutex);
  // Counts the failure of a job against a node. Returns true if this has quarantined the node.
  bool CountFailure(const FinishedAttempt& attempt, const JobRow& row, const std::string& node_id)
      ASSAY_REQUIRES(database_.mutex);
  void Touch(JobRow& row) ASSAY_REQUIRES(database_.mutex);
  // Ends the campaign if it has no open job. Returns true if it has ended the campaign.
  bool EndIfDone(const std::string& campaign_id) ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

class FakeNodeStore : public NodeStore {
 public:
  explicit FakeNodeStore(FakeDatabase& database) : database_(database) {}

  Status Connect(const std::string& owner, const v1::NodeDescription& node,
                 const std::string& dial_address, Duration stale_after) override;
  Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) override;
  Status Disconnect(const std::string& owner, const std::string& node_id) override;
  Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                           Duration stale_after) override;
  Result<std::vector<v1::Node>> ListNodesAfter(const std::string& name, int limit,
                                               Duration stale_after,
                                               Benchmarks benchmarks) override;
  Result<NodeCounts> CountNodes(Duration stale_after) override;
  Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) override;
  Result<std::shared_ptr<const v1::Schemas>> GetSchemas(const std::string& schemas_hash) override;
  Result<std::vector<std::string>> ListQuarantined() override;
  Status EndQuarantine(const std::string& node_id) override;
  Status Cordon(const CordonRequest& request) override;
  Status Uncordon(const std::string& id_or_name) override;
  Status Update(const v1::UpdateNodeRequest& request) override;
  Result<std::map<std::string, v1::NodeSettings>> ListSettings() override;
  Status AddDialAddress(const std::string& address) override;
  Result<std::vector<std::string>> ListDialAddresses() override;
  Status RemoveNode(const std::string& id_or_name) override;

 private:
  using NodeRow = FakeDatabase::NodeRow;

  v1::Node Message(const NodeRow& row, Duration stale_after) const ASSAY_REQUIRES(database_.mutex);
  // Finds a node by id or, failing that, by name. If neither matches, returns NOT_FOUND with the
  // most similar name as a hint.
  Result<NodeRow*> Find(const std::string& id_or_name) ASSAY_REQUIRES(database_.mutex);
  // Returns the row of a node that is connected to `owner`, else null.
  NodeRow* Connected(const std::string& owner, const std::string& node_id)
      ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

v1::StoredResult WithoutSamples(v1::StoredResult stored);

class FakeResultStore : public ResultStore {
 public:
  explicit FakeResultStore(FakeDatabase& database) : database_(database) {}

  Result<std::vector<CommitOutcome>> Commit(const std::vector<SentResult>& results) override;
  Result<std::vector<CommitOutcome>> Compare(const std::vector<v1::CaseResult>& results) override;
  Result<ImportOutcome> Import(const ImportedCampaign& imported) override;
  using ResultStore::List;
  Result<ResultPage> List(const std::string& filter, const PageRequest& page,
                          const std::string& order) override;
  Result<v1::GroupResultsResponse> Group(const v1::GroupResultsRequest& request) override;
  Result<FieldValues> ListValues(const std::string& field, int limit, bool simulated) override;
  Result<v1::StoredResult> Get(const std::string& result_id) override;
  Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) override;
  Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) override;

 private:
  CommitOutcome CommitOne(const SentResult& sent) ASSAY_REQUIRES(database_.mutex);
  // Returns the results that match, newest first.
  Result<std::vector<const FakeDatabase::ResultRow*>> Find(const std::string& filter)
      ASSAY_REQUIRES(database_.mutex);
  void Store(FakeDatabase::JobRow& row, const SentResult& sent) ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

class FakeWorkStore : public WorkStore {
 public:
  explicit FakeWorkStore(FakeDatabase& database) : database_(database) {}

  Result<std::vector<std::optional<double>>> CaseSeconds(const std::vector<CaseOfBenchmark>& cases,
                                                         const std::string& effort) override;
  Result<std::vector<Work>> ListOpenWork(const std::string& campaign_id) override;
  Result<std::vector<KindOfWork>> ListKindsOfWork(const std::string& campaign_id) override;

 private:
  FakeDatabase& database_;
};

class FakeAnalysisStore : public AnalysisStore {
 public:
  explicit FakeAnalysisStore(FakeDatabase& database) : database_(database) {}

  Result<Runs> ListRuns(const std::string& filter) override;
  Result<Runs> ListRunsOfLineage(const std::string& lineage_id, int per_place) override;
  Result<ChangedLineages> ListChangedLineages(const std::string& cursor) override;
  Result<JudgeState> GetJudgeState() override;
  Status PutFindings(const Findings& findings, int64_t term) override;
  Result<Page<v1::Regression>> ListRegressions(const RegressionQuery& query,
                                               const PageRequest& page) override;
  Result<std::vector<v1::Incident>> ListIncidents(const RegressionQuery& query) override;
  Result<v1::ListOutliersResponse> ListOutliers(const v1::ListOutliersRequest& request) override;
  Result<std::vector<PlaceRegressions>> CountOpenRegressions(int limit) override;
  Result<FindingCounts> CountFindings(int limit) override;
  Result<int> Acknowledge(const std::string& id, const std::string& by, const std::string& note,
                          bool false_alarm) override;
  Status PutBaseline(const v1::Baseline& baseline) override;
  Result<std::vector<v1::Baseline>> ListBaselines() override;
  Result<v1::Baseline> GetBaseline(const std::string& name) override;
  Status PutAnnotation(const v1::Annotation& annotation) override;
  Result<std::vector<v1::Annotation>> ListAnnotations(WallTime from, WallTime to) override;

 private:
  // Returns whether the lineage has results of simulated nodes.
  bool IsSimulated(const std::string& lineage_id) const ASSAY_REQUIRES(database_.mutex);
  void ReplaceOutliers(const Findings& findings) ASSAY_REQUIRES(database_.mutex);
  void ReplaceSummaries(const Findings& findings) ASSAY_REQUIRES(database_.mutex);
  // Returns whether an incident has a regression that the query selects by node and lineage.
  bool HasRegression(const std::string& incident_id, const RegressionQuery& query) const
      ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

class FakeScheduleStore : public ScheduleStore {
 public:
  explicit FakeScheduleStore(FakeDatabase& database) : database_(database) {}

  Status Create(const v1::Schedule& schedule) override;
  Result<v1::Schedule> Get(const std::string& id_or_name) override;
  Result<std::vector<v1::Schedule>> List() override;
  Status Delete(const std::string& schedule_id) override;
  Result<std::vector<v1::Schedule>> ListDue(WallTime now, int limit) override;
  Result<bool> RecordRun(const RecordedRun& recorded) override;

 private:
  FakeDatabase& database_;
};

class FakeFleetStore : public FleetStore {
 public:
  explicit FakeFleetStore(FakeDatabase& database) : database_(database) {}

  Result<std::string> GetFleetId() override { return database_.fleet_id; }
  Result<Leader> Elect(const std::string& owner, const std::string& address,
                       Duration lease) override;
  Status Resign(const std::string& owner) override;

 private:
  FakeDatabase& database_;
};

class FakeIdentityStore : public IdentityStore {
 public:
  explicit FakeIdentityStore(FakeDatabase& database) : database_(database) {}

  Status CreateInvite(const StoredInvite& invite) override;
  Result<std::optional<StoredInvite>> GetInvite(const std::string& invite_id) override;
  Result<std::vector<v1::Invite>> ListInvites(int limit) override;
  Status RevokeInvite(const std::string& invite_id, WallTime now) override;
  Result<EnrolOutcome> Enrol(const Enrolling& enrolling) override;
  Result<v1::EnrolledIdentity> GetIdentity(const std::string& id_or_name) override;
  Result<std::optional<v1::EnrolledIdentity>> FindKey(const std::string& key_hash) override;
  Result<bool> SetCertificate(const std::string& key_hash, const std::string& serial,
                              WallTime certificate_expire_time) override;
  Result<std::vector<v1::EnrolledIdentity>> ListIdentities(const std::string& role,
                                                           const std::string& name,
                                                           int limit) override;
  Result<std::optional<Identities>> ListChanged(int64_t revision) override;
  Result<v1::EnrolledIdentity> Ban(const std::string& id_or_name, const std::string& reason,
                                   const std::string& by, WallTime now) override;
  Result<v1::EnrolledIdentity> Unban(const std::string& id_or_name) override;
  Status RemoveIdentity(const std::string& id_or_name) override;
  Result<std::vector<std::string>> RemoveAbsent(Duration absence, WallTime now) override;
  Status RemoveOld(WallTime now) override;
  Status AddAttempt(const v1::EnrolmentAttempt& attempt) override;
  Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() override;

 private:
  StoredInvite* FindInvite(const std::string& invite_id) ASSAY_REQUIRES(database_.mutex);
  std::optional<v1::EnrolledIdentity> FindIf(
      const std::function<bool(const v1::EnrolledIdentity&)>& matches) const
      ASSAY_REQUIRES(database_.mutex);
  // Finds an identity by id or, failing that, by name. If neither matches, returns NOT_FOUND, with
  // a hint if there is a similar name.
  Result<v1::EnrolledIdentity*> Find(const std::string& id_or_name) ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

}  // namespace assay::storage
