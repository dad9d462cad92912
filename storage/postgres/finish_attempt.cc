#include <nlohmann/json.hpp>

#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/reasons.h"

namespace assay::storage {
namespace {

// Returns the SQL statement that ends an attempt to run a job, frees the job's nodes and GPUs, and
// counts the success or failure for each of its nodes. $1 is the attempt as JSON, and $2 is the
// channel to notify. The statement returns one row with the campaign, the job's state and the names
// of newly quarantined nodes, or no row if it has no effect.
const std::string& FinishSql() {
  static const std::string sql =
      "WITH ended AS ("
      "  SELECT * FROM json_to_record($1) AS e(job_id text, epoch bigint, state job_state,"
      "    avoid_node_ids text[], same_nodes boolean, delay interval, failure bytea, entry jsonb,"
      "    mend boolean, term bigint, suspects text[], job_limit int, campaign_limit int,"
      "    by_jobs text, by_campaigns text)),"
      "updated AS ("
      "  UPDATE job SET owner = NULL, lease_until = NULL,"
      "    state = CASE WHEN e.state = 'queued' AND cancel_requested THEN 'cancelled'"
      "                 ELSE e.state END,"
      "    end_time = CASE WHEN e.state <> 'queued' OR cancel_requested THEN now() END,"
      "    avoid_node_ids = e.avoid_node_ids, not_before = now() + e.delay,"
      "    same_nodes = e.same_nodes,"
      "    failure = CASE WHEN e.state = 'succeeded' AND NOT e.mend THEN job.failure"
      "                   ELSE e.failure END,"
      "    failures = CASE WHEN e.entry IS NULL THEN failures ELSE failures ||"
      "      jsonb_build_array(e.entry || jsonb_build_object('nodes', to_jsonb(node_ids))) END,"
      "    revision = pg_current_xact_id()::text::bigint"
      "  FROM ended e WHERE job.job_id = e.job_id AND job.epoch = e.epoch"
      "    AND CASE WHEN e.mend THEN job.state IN ('queued', 'failed')"
      "                              AND job.cases_done = job.case_count"
      "             ELSE job.state = 'running' END"
      "    AND " +
      IsTerm("e.term") +
      "  RETURNING job.job_id, campaign_id, job.state, job.node_ids),"
      "freed AS (DELETE FROM allocation USING updated WHERE allocation.job_id = updated.job_id),"
      // Lock the nodes in order of id to avoid deadlocks. In the most common case, where a job
      // succeeds on nodes without earlier failures, no node is locked or written.
      "counted AS ("
      "  SELECT n.node_id, u.state = 'succeeded' AS good,"
      "    n.failed_job_ids || u.job_id AS jobs,"
      "    CASE WHEN u.campaign_id = ANY(n.failed_campaign_ids) THEN n.failed_campaign_ids"
      "         ELSE n.failed_campaign_ids || u.campaign_id END AS campaigns"
      "  FROM ended e CROSS JOIN updated u CROSS JOIN LATERAL"
      "    unnest(CASE u.state WHEN 'succeeded' THEN u.node_ids ELSE e.suspects END) AS place(id)"
      "  JOIN node n ON n.node_id = place.id"
      "  WHERE CASE u.state WHEN 'succeeded' THEN n.failed_job_ids <> '{}'"
      "             ELSE n.quarantine IS NULL AND u.job_id <> ALL(n.failed_job_ids) END"
      "  ORDER BY n.node_id FOR UPDATE OF n),"
      "judged AS ("
      "  SELECT c.*, CASE WHEN c.good THEN NULL"
      "                   WHEN cardinality(c.jobs) >= e.job_limit THEN e.by_jobs"
      "                   WHEN cardinality(c.campaigns) >= e.campaign_limit THEN e.by_campaigns"
      "              END AS quarantine"
      "  FROM counted c CROSS JOIN ended e),"
      "marked AS ("
      "  UPDATE node SET failed_job_ids = CASE WHEN j.good THEN '{}' ELSE j.jobs END,"
      "    failed_campaign_ids = CASE WHEN j.good THEN '{}' ELSE j.campaigns END,"
      "    quarantine = coalesce(node.quarantine, j.quarantine),"
      "    quarantine_time = coalesce(node.quarantine_time,"
      "      CASE WHEN j.quarantine IS NOT NULL THEN now() END)"
      "  FROM judged j WHERE node.node_id = j.node_id"
      "  RETURNING node.name, j.quarantine IS NOT NULL AS fresh)"
      "SELECT campaign_id, state,"
      "  ARRAY(SELECT name FROM marked WHERE fresh ORDER BY name COLLATE \"C\") AS quarantined,"
      "  CASE state WHEN 'queued' THEN pg_notify($2, '') END "
      "FROM updated";
  return sql;
}

Result<std::string> RecordOf(const FinishedAttempt& attempt) {
  nlohmann::json ended = {
      {"job_id", attempt.job.job_id},
      {"epoch", attempt.job.epoch},
      {"state", WordOf(StateAfter(attempt.disposition))},
      {"avoid_node_ids", attempt.avoid_node_ids},
      {"same_nodes", attempt.same_nodes},
      {"delay", Interval(attempt.delay)},
      {"mend", attempt.mend},
      {"term", attempt.term},
      {"suspects", attempt.suspect_node_ids},
      {"job_limit", kQuarantineJobs},
      {"campaign_limit", kQuarantineCampaigns},
      {"by_jobs", QuarantineReason(FailedJobsText(), attempt.failure)},
      {"by_campaigns", QuarantineReason(FailedCampaignsText(), attempt.failure)}};
  if (attempt.failure) {
    ended["failure"] = HexLiteral(DeterministicBytes(*attempt.failure));
    // If attempt.mend is true, the attempt was added to the job's failures when it failed.
    if (!attempt.mend) {
      ended["entry"] = {{"class", WordOf(attempt.failure->failure_class())},
                        {"reason", ReasonWord(attempt.failure->reason())},
                        {"node", attempt.failure->node_id()},
                        {"also", attempt.also_node_ids}};
    }
  }
  return StorableJson(ended);
}

// Locks the campaign of a job. To avoid deadlocks, call this before locking the job, because
// CancelCampaign takes its locks in the same order.
void LockCampaign(Transaction& transaction, const std::string& job_id) {
  transaction.exec_params(
      "SELECT FROM campaign WHERE campaign_id = (SELECT campaign_id FROM job WHERE job_id = $1) "
      "FOR NO KEY UPDATE",
      job_id);
}

// Removes the verdict of a completed campaign. Returns true if it had one.
bool RemoveVerdict(Transaction& transaction, const std::string& campaign_id) {
  return !transaction
              .exec_params(
                  "UPDATE campaign SET verdict = NULL, rules = NULL "
                  "WHERE campaign_id = $1 AND state = 'completed' AND verdict IS NOT NULL "
                  "RETURNING 1",
                  campaign_id)
              .empty();
}

}  // namespace

std::string IsTerm(const std::string& term) {
  return "(" + term + " = 0 OR " + term + " = (SELECT s.term FROM scheduler s))";
}

Result<FinishOutcome> FinishAttempt(Pool& pool, const FinishedAttempt& attempt, bool* open) {
  ASSAY_ASSIGN_OR_RETURN(const std::string record, RecordOf(attempt));
  FinishOutcome outcome;
  const auto finish = [&](Transaction& transaction) {
    outcome = {};
    if (attempt.mend) LockCampaign(transaction, attempt.job.job_id);
    const pqxx::result rows = ExecPrepared(transaction, FinishSql(), record, kJobsQueuedChannel);
    if (rows.empty()) return Status::Ok();
    outcome.held = true;
    outcome.campaign_id = rows[0][0].as<std::string>();
    *open = EnumOf<v1::JobState>(rows[0][1]) == v1::JOB_STATE_QUEUED;
    outcome.quarantined = TextsOf(rows[0][2]);
    if (attempt.mend) outcome.campaign_ended = RemoveVerdict(transaction, outcome.campaign_id);
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(attempt.mend ? pool.Run("mend_job", finish)
                                     : pool.RunStatement("finish_attempt", finish));
  return outcome;
}

}  // namespace assay::storage
