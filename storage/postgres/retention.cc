#include "storage/postgres/retention.h"

#include <algorithm>
#include <string>

#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

// The maximum number of rows that one statement deletes. The limit keeps locks short.
constexpr int kRowsPerStatement = 5000;
constexpr int kJobsPerTransaction = 500;

// An SQL condition that is true if campaign `c` ended more than $1 ago and has its verdict.
constexpr char kExpired[] =
    "(c.state <> 'active' AND c.verdict IS NOT NULL AND c.end_time < now() - $1::interval)";

// Runs a statement that deletes at most kRowsPerStatement rows until none is left.
Result<int64_t> DeleteAll(Pool& pool, const char* name, const std::string& sql,
                          const std::string& age) {
  for (int64_t total = 0;;) {
    ASSAY_ASSIGN_OR_RETURN(const pqxx::result deleted,
                           pool.Execute(name, sql, age, kRowsPerStatement));
    total += static_cast<int64_t>(deleted.affected_rows());
    if (deleted.affected_rows() == 0) return total;
  }
}

// Deletes samples older than `age`, except those of campaigns that have not ended. A sample has the
// same `ts` as its result, because a single statement stores both.
Result<int64_t> RetireSamples(Pool& pool, const std::string& age) {
  return DeleteAll(pool, "retire_samples",
                   "DELETE FROM sample WHERE ctid = ANY(ARRAY("
                   "  SELECT s.ctid FROM sample s WHERE s.ts < now() - $1::interval"
                   "  AND NOT EXISTS (SELECT FROM result r JOIN campaign c USING (campaign_id)"
                   "    WHERE r.result_id = s.result_id AND r.ts = s.ts AND c.state = 'active')"
                   "  LIMIT $2))",
                   age);
}

// Drops the partitions of `result` whose month ended more than `age` ago, unless they contain
// results of a campaign that has not expired (see kExpired).
Result<int64_t> DropPartitions(Pool& pool, const std::string& age) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result old,
      pool.Execute("list_partitions",
                   "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid "
                   "WHERE inhparent = 'result'::regclass AND relname ~ '^result_\\d{4}_\\d{2}$'"
                   "  AND (to_date(right(relname, 7), 'YYYY_MM') + interval '1 month')"
                   "    AT TIME ZONE 'UTC' <= now() - $1::interval ORDER BY relname",
                   age));
  int64_t dropped = 0;
  for (const std::string& partition : FirstTexts(old)) {
    ASSAY_RETURN_IF_ERROR(pool.Run("drop_partition", [&](Transaction& transaction) {
      transaction.exec("SET LOCAL lock_timeout = '2s'");  // Readers must not queue behind this.
      const pqxx::result kept =
          transaction.exec_params("SELECT 1 FROM campaign c WHERE NOT " + std::string(kExpired) +
                                      " AND EXISTS (SELECT FROM " + partition +
                                      " r WHERE r.campaign_id = c.campaign_id)"
                                      " LIMIT 1",
                                  age);
      if (!kept.empty()) return Status::Ok();
      transaction.exec("DROP TABLE " + partition);
      ++dropped;
      return Status::Ok();
    }));
  }
  return dropped;
}

// Deletes up to kJobsPerTransaction jobs of an expired campaign with their case results, or the
// campaign itself if it has no jobs left. Returns true once nothing is left to do: the campaign has
// been deleted, or it must be kept because it has a result or an open job again.
//
// Jobs and their case results must be deleted in one transaction. If only the row of a case were
// deleted, a late result of this case could be stored again.
Result<bool> RetireJobs(Pool& pool, const std::string& campaign_id, const std::string& age) {
  return pool.Transact("retire_jobs", [&](Transaction& transaction) -> Result<bool> {
    const std::string jobs = ArrayOf(FirstTexts(transaction.exec_params(
        "SELECT job_id FROM job WHERE campaign_id = $1 ORDER BY job_id LIMIT $2 FOR UPDATE",
        campaign_id, kJobsPerTransaction)));
    // With the jobs locked, no late result can come any more.
    const pqxx::result expired = transaction.exec_params(
        "SELECT 1 FROM campaign c WHERE c.campaign_id = $2 AND " + std::string(kExpired) +
            " AND NOT EXISTS (SELECT FROM result r WHERE r.campaign_id = c.campaign_id) FOR UPDATE",
        age, campaign_id);
    if (expired.empty()) return true;
    if (jobs == "{}") {
      transaction.exec_params("DELETE FROM candidate_set WHERE campaign_id = $1", campaign_id);
      transaction.exec_params("DELETE FROM campaign WHERE campaign_id = $1", campaign_id);
      return true;
    }
    transaction.exec_params("DELETE FROM case_result WHERE job_id = ANY($1::text[])", jobs);
    transaction.exec_params("DELETE FROM job WHERE job_id = ANY($1::text[])", jobs);
    return false;
  });
}

// Deletes campaigns that ended more than `age` ago and have no results any more.
Result<int64_t> RetireCampaigns(Pool& pool, const std::string& age) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result expired,
      pool.Execute("list_expired",
                   "SELECT campaign_id FROM campaign c WHERE " + std::string(kExpired) +
                       " AND NOT EXISTS (SELECT FROM result r"
                       "  WHERE r.campaign_id = c.campaign_id) ORDER BY sequence",
                   age));
  for (const std::string& campaign_id : FirstTexts(expired)) {
    for (bool done = false; !done;) {
      ASSAY_ASSIGN_OR_RETURN(done, RetireJobs(pool, campaign_id, age));
    }
  }
  return static_cast<int64_t>(expired.size());
}

}  // namespace

Result<Retired> Retire(Pool& pool, const Retention& retention) {
  Retired retired;
  if (retention.results) {
    const std::string age = Interval(*retention.results);
    ASSAY_ASSIGN_OR_RETURN(retired.partitions, DropPartitions(pool, age));
    ASSAY_ASSIGN_OR_RETURN(retired.campaigns, RetireCampaigns(pool, age));
    ASSAY_RETURN_IF_ERROR(pool.Execute("retire_schemas",
                                       "DELETE FROM schema_set s WHERE NOT EXISTS (SELECT FROM "
                                       "node n WHERE n.schemas_hash = s.schemas_hash)")
                              .status());
  }
  if (retention.samples || retention.results) {
    const Duration samples = std::min(retention.samples.value_or(Duration::max()),
                                      retention.results.value_or(Duration::max()));
    ASSAY_ASSIGN_OR_RETURN(retired.samples, RetireSamples(pool, Interval(samples)));
  }
  return retired;
}

}  // namespace assay::storage
