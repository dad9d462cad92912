#include "storage/job_store.h"

#include <utility>

#include "model/page.h"
#include "storage/postgres/insert_campaign.h"
#include "storage/postgres/job_rows.h"
#include "storage/postgres/node_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

// Joins the totals of a campaign's jobs as "t".
constexpr const char* kTotals =
    " CROSS JOIN LATERAL (SELECT sum(queued) AS queued, sum(running) AS running,"
    "  sum(succeeded) AS succeeded, sum(failed) AS failed, sum(cancelled) AS cancelled,"
    "  sum(skipped) AS skipped, sum(case_count) AS case_count, sum(cases_done) AS cases_done"
    "  FROM job_count WHERE job_count.campaign_id = c.campaign_id) t ";

Status NoCampaign(const std::string& id) { return NotFound("no campaign \"" + id + "\""); }

// Returns NOT_FOUND for a name that a user gave, with the closest name as the hint.
Status NoCampaignNamed(Transaction& transaction, const std::string& id_or_name) {
  const pqxx::result newest = transaction.exec_params(
      "SELECT name FROM campaign ORDER BY sequence DESC LIMIT $1", kOfferedCampaigns);
  return NoSuch("campaign", id_or_name, FirstTexts(newest));
}

constexpr int kCancelledAtOnce = 500;  // Jobs.

using LeasedJobs = Result<std::vector<LeasedJob>>;
using Names = Result<std::vector<std::string>>;

class PostgresJobStore : public JobStore {
 public:
  explicit PostgresJobStore(Pool& pool) : pool_(pool) {}

  Result<v1::Campaign> CreateCampaign(const NewCampaign& campaign) override {
    if (campaign.jobs.empty()) return InvalidArgument("a campaign needs at least one job");
    std::string made;
    ASSAY_RETURN_IF_ERROR(pool_.Run("create_campaign", [&](Transaction& transaction) {
      ASSAY_ASSIGN_OR_RETURN(made, InsertCampaign(transaction, campaign));
      if (made == campaign.campaign_id) {
        transaction.exec_params("SELECT pg_notify($1, '')", kJobsQueuedChannel);
      }
      return Status::Ok();
    }));
    return GetCampaign(made);
  }

  Result<v1::Campaign> GetCampaign(const std::string& id_or_name) override {
    return pool_.Query("get_campaign", [&](Transaction& transaction) -> Result<v1::Campaign> {
      const pqxx::result rows =
          transaction.exec_params("SELECT " + CampaignColumns() +
                                      " FROM (SELECT * FROM campaign c"
                                      "       WHERE c.campaign_id = $1 OR c.name = $1"
                                      "       ORDER BY c.campaign_id = $1 DESC, c.sequence DESC"
                                      "       LIMIT 1) c" +
                                      kTotals,
                                  id_or_name);
      if (rows.empty()) return NoCampaignNamed(transaction, id_or_name);
      return CampaignOf(rows[0]);
    });
  }

  Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& request) override {
    ASSAY_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken('c', request.token, INT64_MAX));
    return pool_.Query(
        "list_campaigns", [&](Transaction& transaction) -> Result<Page<v1::Campaign>> {
          PageFiller<v1::Campaign> filler('c', request);
          for (const auto& row : transaction.exec_params(
                   "SELECT c.sequence, " + CampaignColumns() + " FROM campaign c" + kTotals +
                       "WHERE c.sequence < $1 ORDER BY c.sequence DESC LIMIT $2",
                   before, PageSize(request) + 1)) {
            v1::Campaign campaign = CampaignOf(row);
            campaign.clear_spec();
            if (!filler.Add(std::move(campaign), row["sequence"].as<int64_t>())) break;
          }
          return std::move(filler).Take();
        });
  }

  Result<std::vector<v1::Campaign>> ListActiveCampaigns(int limit) override {
    using Campaigns = std::vector<v1::Campaign>;
    return pool_.Query("list_active_campaigns", [&](Transaction& transaction) -> Result<Campaigns> {
      Campaigns campaigns;
      for (const auto& row :
           transaction.exec_params("SELECT " + CampaignColumns() + " FROM campaign c" + kTotals +
                                       "WHERE c.state = 'active' ORDER BY c.sequence DESC LIMIT $1",
                                   limit)) {
        campaigns.push_back(CampaignOf(row));
        campaigns.back().clear_spec();
      }
      return campaigns;
    });
  }

  Result<Page<v1::Job>> ListJobs(const std::string& campaign_id,
                                 const PageRequest& request) override {
    ASSAY_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken('j', request.token, 0));
    return pool_.Transact("list_jobs", [&](Transaction& transaction) -> Result<Page<v1::Job>> {
      const pqxx::result campaign =
          transaction.exec_params("SELECT 1 FROM campaign WHERE campaign_id = $1", campaign_id);
      if (campaign.empty()) return NoCampaign(campaign_id);
      PageFiller<v1::Job> filler('j', request);
      for (const auto& row : transaction.exec_params(
               JobsOfCampaign() + " AND j.sequence > $2 ORDER BY j.sequence LIMIT $3", campaign_id,
               after, PageSize(request) + 1)) {
        if (!filler.Add(JobOf(row), row["sequence"].as<int64_t>())) break;
      }
      return std::move(filler).Take();
    });
  }

  // Returns the jobs that changed since an earlier call, without missing changes by transactions
  // that were open during that call. The revision of a change is the id of its transaction. The
  // returned revision is the id of the oldest open transaction, so that all transactions that
  // commit later have an equal or higher id. The next call therefore finds their changes.
  Result<JobChanges> ListJobChanges(const std::string& campaign_id, int64_t revision) override {
    return pool_.Transact("list_job_changes", [&](Transaction& transaction) -> Result<JobChanges> {
      JobChanges changes;
      const pqxx::result now = transaction.exec_params(
          "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM campaign "
          "WHERE campaign_id = $1",
          campaign_id);
      if (now.empty()) return NoCampaign(campaign_id);
      changes.revision = now[0][0].as<int64_t>();
      // If the revision is higher than the current one, it comes from another database cluster, and
      // this database was restored from a dump of that cluster. In that case, return all jobs.
      const int64_t since = revision > changes.revision ? 0 : revision;
      for (const auto& row :
           transaction.exec_params(JobsOfCampaign() + " AND j.revision >= $2 ORDER BY j.sequence",
                                   campaign_id, since)) {
        changes.jobs.push_back(JobOf(row));
      }
      return changes;
    });
  }

  Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id,
                                                   const Silence& silence) override {
    using Waiting = std::vector<v1::WaitingJobs>;
    return pool_.Query("list_waiting", [&](Transaction& transaction) -> Result<Waiting> {
      WaitingList list;
      const pqxx::result rows = transaction.exec_params(
          "WITH queued AS ("
          "  SELECT row_number() OVER () AS number, count(*) AS jobs, node_count, candidate_set,"
          "         candidate_node_ids"
          "  FROM job WHERE campaign_id = $1 AND state = 'queued'"
          "  GROUP BY node_count, candidate_set, candidate_node_ids),"
          " place AS ("
          "  SELECT q.number, q.jobs, q.node_count, c.id, coalesce(n.name, c.id) AS name,"
          "         s.last_heartbeat_time, n.quarantine, n.cordon_time, n.cordon_reason,"
          "         n.cordoned_by, n.drain_deadline,"
          "         n.quarantine IS NULL AND n.cordon_time IS NULL AND"
          "           coalesce(s.last_heartbeat_time >= now() -"
          "           CASE WHEN s.owner IS NULL THEN $2::interval ELSE $3::interval END, false)"
          "           AS there"
          "  FROM queued q LEFT JOIN candidate_set choice"
          "    ON choice.campaign_id = $1 AND choice.candidate_set = q.candidate_set"
          "  CROSS JOIN unnest(coalesce(choice.node_ids, q.candidate_node_ids)) AS c(id)"
          "  LEFT JOIN node n ON n.node_id = c.id LEFT JOIN node_session s ON s.node_id = c.id),"
          " short AS ("
          "  SELECT *, node_count - count(*) FILTER (WHERE there) OVER (PARTITION BY number)"
          "    AS needed FROM place) "
          "SELECT number, jobs, needed, id, name, quarantine, " +
              CordonColumns() + ", " + Microseconds("last_heartbeat_time") +
              " AS heard FROM short WHERE needed > 0 AND NOT there ORDER BY number",
          campaign_id, Interval(silence.grace), Interval(silence.stale));
      std::vector<v1::AbsentNode> absent;
      for (pqxx::result::size_type i = 0; i < rows.size(); ++i) {
        v1::AbsentNode& node = absent.emplace_back();
        node.set_node_id(rows[i]["id"].as<std::string>());
        node.set_name(rows[i]["name"].as<std::string>());
        node.set_quarantine(rows[i]["quarantine"].as<std::string>(""));
        if (auto cordon = CordonOf(rows[i])) *node.mutable_cordon() = *std::move(cordon);
        if (!rows[i]["heard"].is_null()) {
          *node.mutable_last_heartbeat_time() = schema::ToTimestamp(TimeOf(rows[i]["heard"]));
        }
        const bool last = i + 1 == rows.size() || rows[i + 1]["number"] != rows[i]["number"];
        if (!last) continue;
        list.Add(rows[i]["jobs"].as<int>(), rows[i]["needed"].as<int>(), std::exchange(absent, {}));
      }
      return std::move(list).Take();
    });
  }

  Result<std::vector<JobEpoch>> CancelCampaign(const std::string& campaign_id) override {
    // Once this transaction has committed, coordinators do not claim jobs of the campaign any more.
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result campaign,
        pool_.Execute("cancel_campaign",
                      "UPDATE campaign SET cancel_requested = cancel_requested OR state = 'active' "
                      "WHERE campaign_id = $1 RETURNING state",
                      campaign_id));
    if (campaign.empty()) return NoCampaign(campaign_id);
    std::vector<JobEpoch> running;
    if (EnumOf<v1::CampaignState>(campaign[0][0]) != v1::CAMPAIGN_STATE_ACTIVE) return running;
    std::string last;  // Id of the last job that was cancelled or marked.
    bool more = true;
    while (more) ASSAY_RETURN_IF_ERROR(CancelJobs(campaign_id, last, running, more));
    if (running.empty()) ASSAY_RETURN_IF_ERROR(EndIfDone(campaign_id).status());
    return running;
  }

  Status SetPaused(const std::string& campaign_id, bool paused, const std::string& by) override {
    return pool_.Run("pause_campaign", [&](Transaction& transaction) -> Status {
      const pqxx::result rows = transaction.exec_params(
          "UPDATE campaign SET"
          "  pause_time = CASE WHEN $2 THEN coalesce(pause_time, now()) END,"
          "  paused_by = CASE WHEN pause_time IS NULL THEN $3 ELSE paused_by END "
          "WHERE campaign_id = $1 AND state = 'active' RETURNING 1",
          campaign_id, paused, by);
      if (rows.empty()) {
        const pqxx::result known = transaction.exec_params(
            "SELECT name FROM campaign WHERE campaign_id = $1", campaign_id);
        if (known.empty()) return NoCampaign(campaign_id);
        v1::Campaign campaign;
        campaign.set_name(known[0][0].as<std::string>());
        return HasEnded(campaign);
      }
      if (!paused) transaction.exec_params("SELECT pg_notify($1, '')", kJobsQueuedChannel);
      return Status::Ok();
    });
  }

  Status RerunCampaign(const RerunRequest& request) override {
    return pool_.Run("rerun_campaign", [&](Transaction& transaction) {
      return storage::RerunCampaign(transaction, request);
    });
  }

  LeasedJobs ClaimJobs(const ClaimRequest& request) override {
    return pool_.Transact("claim_jobs", [&](Transaction& transaction) -> LeasedJobs {
      return storage::ClaimJobs(transaction, request, candidates_);
    });
  }

  LeasedJobs RenewLeases(const std::string& owner, Duration lease,
                         const std::vector<ReportedJob>& jobs) override {
    if (jobs.empty()) return std::vector<LeasedJob>();
    ArrayLiteral ids, epochs, nodes;
    for (const ReportedJob& reported : jobs) {
      ids.Add(reported.job.job_id);
      epochs.Add(reported.job.epoch);
      nodes.Add(reported.node_id);
    }
    return pool_.Query("renew_leases", [&](Transaction& transaction) -> LeasedJobs {
      static const std::string sql =
          "WITH wanted AS ("
          "  SELECT job_id FROM job WHERE job_id = ANY($1::text[]) AND state = 'running'"
          "    AND EXISTS (SELECT FROM unnest($1::text[], $2::bigint[], $5::text[])"
          "                  AS w(job_id, epoch, node_id)"
          "                WHERE w.job_id = job.job_id AND w.epoch = job.epoch"
          "                  AND w.node_id = ANY(job.node_ids))"
          "  ORDER BY job_id FOR UPDATE),"
          "j AS (UPDATE job SET owner = $3, lease_until = now() + $4::interval"
          "      WHERE job_id = ANY(ARRAY(SELECT job_id FROM wanted)) RETURNING job.*) "
          "SELECT " +
          LeasedColumns() + " FROM j";
      const pqxx::result rows = ExecPrepared(transaction, sql, ids.Finish(), epochs.Finish(), owner,
                                             Interval(lease), nodes.Finish());
      return LeasedJobsOf(transaction, rows, candidates_);
    });
  }

  Result<std::optional<LeasedJob>> GetAttempt(const ReportedJob& attempt) override {
    using Attempt = std::optional<LeasedJob>;
    return pool_.Query("get_attempt", [&](Transaction& transaction) -> Result<Attempt> {
      const pqxx::result rows = transaction.exec_params(
          "SELECT " + LeasedColumns() +
              " FROM job j WHERE j.job_id = $1 AND j.epoch = $2 AND $3 = ANY(j.node_ids)",
          attempt.job.job_id, attempt.job.epoch, attempt.node_id);
      if (rows.empty()) return Attempt();
      return Attempt(std::move(LeasedJobsOf(transaction, rows, candidates_)[0]));
    });
  }

  LeasedJobs ListExpired(Duration ago, int limit) override {
    return pool_.Query("list_expired", [&](Transaction& transaction) -> LeasedJobs {
      const pqxx::result rows = transaction.exec_params(
          "SELECT " + LeasedColumns() +
              " FROM job j WHERE j.state = 'running' AND j.lease_until <= now() - $1::interval "
              "ORDER BY j.lease_until, j.sequence LIMIT $2",
          Interval(ago), limit);
      return LeasedJobsOf(transaction, rows, candidates_);
    });
  }

  Result<std::vector<DrainedJob>> ListDrained(int limit) override {
    using DrainedJobs = std::vector<DrainedJob>;
    return pool_.Query("list_drained", [&](Transaction& transaction) -> Result<DrainedJobs> {
      const pqxx::result rows = transaction.exec_params(
          "WITH drained AS ("
          "  SELECT a.job_id, array_agg(DISTINCT n.name ORDER BY n.name) AS node_names"
          "  FROM node n JOIN allocation a USING (node_id)"
          "  WHERE n.cordon_time IS NOT NULL AND n.drain_deadline <= now() GROUP BY a.job_id) "
          "SELECT " +
              LeasedColumns() +
              ", drained.node_names FROM drained JOIN job j USING (job_id) "
              "WHERE j.state = 'running' ORDER BY j.job_id LIMIT $1",
          limit);
      DrainedJobs jobs;
      for (LeasedJob& job : LeasedJobsOf(transaction, rows, candidates_)) {
        const pqxx::row row = rows[static_cast<pqxx::result::size_type>(jobs.size())];
        jobs.push_back({std::move(job), TextsOf(row["node_names"])});
      }
      return jobs;
    });
  }

  Result<FinishOutcome> FinishAttempt(const FinishedAttempt& attempt) override {
    bool open = false;
    ASSAY_ASSIGN_OR_RETURN(FinishOutcome outcome, storage::FinishAttempt(pool_, attempt, &open));
    // End the campaign only after the attempt's transaction has committed. That way, if the last
    // two jobs end at the same time, the later call sees that both have ended.
    if (outcome.held && !open && !outcome.campaign_ended) {
      ASSAY_ASSIGN_OR_RETURN(outcome.campaign_ended, EndIfDone(outcome.campaign_id));
    }
    return outcome;
  }

  Names ListUnjudged() override {
    const auto list = [&](const std::string& condition) {
      return pool_.Query("list_unjudged", [&](Transaction& transaction) -> Names {
        return FirstTexts(transaction.exec("SELECT campaign_id FROM campaign WHERE " + condition));
      });
    };
    // First end active campaigns whose jobs have all ended. Such campaigns exist if a coordinator
    // crashed between ending the last job and ending the campaign.
    ASSAY_ASSIGN_OR_RETURN(
        const std::vector<std::string> ended,
        list("state = 'active' AND (SELECT sum(queued + running) FROM job_count n"
             "                      WHERE n.campaign_id = campaign.campaign_id) = 0"));
    for (const std::string& id : ended) ASSAY_RETURN_IF_ERROR(EndIfDone(id).status());
    return list("state <> 'active' AND verdict IS NULL");
  }

  Status SetVerdict(const std::string& campaign_id, v1::Verdict verdict,
                    const std::vector<v1::RuleVerdict>& rules) override {
    v1::Campaign holder;
    for (const v1::RuleVerdict& rule : rules) *holder.add_rules() = rule;
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("set_verdict",
                      "UPDATE campaign SET"
                      "  verdict = CASE WHEN state = 'active' THEN NULL"
                      "                 ELSE coalesce(verdict, $2::verdict) END,"
                      "  rules = CASE WHEN verdict IS NULL AND state <> 'active' THEN $3::bytea"
                      "               ELSE rules END "
                      "WHERE campaign_id = $1 RETURNING 1",
                      campaign_id, WordOf(verdict), HexLiteral(DeterministicBytes(holder))));
    return rows.empty() ? NoCampaign(campaign_id) : Status::Ok();
  }

  Result<QueueStats> GetQueueStats() override {
    return pool_.Query("queue_stats", [&](Transaction& transaction) -> Result<QueueStats> {
      QueueStats stats;
      // Takes the creation time of a campaign for that of its jobs.
      const pqxx::row row = transaction.exec1(
          "SELECT sum(queued), sum(running), sum(succeeded), sum(failed), sum(cancelled),"
          "  sum(skipped), " +
          Microseconds("(SELECT min(create_time) FROM campaign c WHERE state = 'active' AND 0 <"
                       "  (SELECT sum(queued) FROM job_count n WHERE n.campaign_id = c.campaign_id)"
                       "  AND pause_time IS NULL)") +
          ", (SELECT sum(queued) FROM job_count JOIN campaign USING (campaign_id)"
          "   WHERE state = 'active' AND pause_time IS NOT NULL),"
          "  (SELECT count(*) FROM campaign WHERE state = 'active' AND pause_time IS NULL),"
          "  (SELECT count(*) FROM campaign WHERE state = 'active' AND pause_time IS NOT NULL)"
          " FROM job_count");
      stats.paused = row[7].as<int>(0);
      stats.counts.set_queued(row[0].as<int>(0) - stats.paused);
      stats.counts.set_running(row[1].as<int>(0));
      stats.counts.set_succeeded(row[2].as<int>(0));
      stats.counts.set_failed(row[3].as<int>(0));
      stats.counts.set_cancelled(row[4].as<int>(0));
      stats.counts.set_skipped(row[5].as<int>(0));
      if (!row[6].is_null()) stats.oldest_queued = TimeOf(row[6]);
      stats.active_campaigns = row[8].as<int>();
      stats.paused_campaigns = row[9].as<int>();
      return stats;
    });
  }

 private:
  // Cancels the next queued jobs of the campaign, and marks the next running ones for cancellation,
  // starting after the id `last`. Handles at most kCancelledAtOnce jobs per transaction, so that a
  // large campaign does not hold up lease renewals. Advances `last`, adds the running jobs to
  // `running`, and sets `more` to false once no jobs are left.
  Status CancelJobs(const std::string& campaign_id, std::string& last,
                    std::vector<JobEpoch>& running, bool& more) {
    // Use a single UPDATE for both queued and running jobs, because two separate statements could
    // both miss a job that changes its state in between. To avoid deadlocks, jobs are locked in
    // order of id, as in renewals and commits.
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute(
            "cancel_jobs",
            "WITH chunk AS ("
            "  SELECT job_id FROM job"
            "  WHERE campaign_id = $1 AND job_id > $2 AND state IN ('queued', 'running')"
            "  ORDER BY job_id LIMIT $3),"
            "open AS ("
            "  SELECT job_id FROM job JOIN chunk USING (job_id)"
            "  WHERE state IN ('queued', 'running')"
            "  ORDER BY job_id FOR NO KEY UPDATE OF job),"
            "updated AS ("
            "  UPDATE job SET cancel_requested = true,"
            "    state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,"
            "    end_time = CASE state WHEN 'queued' THEN now() END,"
            "    revision = pg_current_xact_id()::text::bigint"
            "  FROM open WHERE job.job_id = open.job_id AND state IN ('queued', 'running')"
            "  RETURNING job.job_id, epoch, state = 'running' AS running) "
            "SELECT * FROM chunk LEFT JOIN updated USING (job_id) ORDER BY job_id",
            campaign_id, last, kCancelledAtOnce));
    more = !rows.empty();
    for (const auto& row : rows) {
      last = row["job_id"].as<std::string>();
      if (row["running"].as<bool>(false)) running.push_back({last, row["epoch"].as<int64_t>()});
    }
    return Status::Ok();
  }

  // Ends the campaign if all its jobs have ended. Returns true only to the caller that ended it.
  Result<bool> EndIfDone(const std::string& campaign_id) {
    // Each condition matches one partial index.
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.ExecutePrepared(
            "end_campaign",
            "UPDATE campaign SET end_time = now(),"
            "  state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'completed' END"
            "    ::campaign_state "
            "WHERE campaign_id = $1 AND state = 'active'"
            "  AND NOT EXISTS (SELECT FROM job WHERE campaign_id = $1 AND state = 'running')"
            "  AND NOT EXISTS (SELECT FROM job WHERE campaign_id = $1 AND state = 'queued'"
            "                  AND pinned_node_id IS NOT NULL)"
            "  AND NOT EXISTS (SELECT FROM job WHERE campaign_id = $1 AND state = 'queued'"
            "                  AND pinned_node_id IS NULL) "
            "RETURNING 1",
            campaign_id));
    return !rows.empty();
  }

  Pool& pool_;
  CandidateSets candidates_;
};

}  // namespace

std::unique_ptr<JobStore> MakeJobStore(Pool& pool) {
  return std::make_unique<PostgresJobStore>(pool);
}

}  // namespace assay::storage
