#include <string>

#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"

namespace assay::storage {
namespace {

// Requeues the jobs of the latest run that failed or were cancelled and lack a result for some
// case. The latest run consists of repetition $2 and all later ones. To avoid deadlocks, locks the
// jobs in order of id, as lease renewals and commits of results do. Sets not_before to now, so that
// the jobs do not appear to have been waiting since they were created.
constexpr const char* kQueueFailed =
    "WITH ended AS ("
    "  SELECT job_id FROM job WHERE campaign_id = $1 AND repetition >= $2"
    "    AND state IN ('failed', 'cancelled') AND cases_done < case_count"
    "  ORDER BY job_id FOR NO KEY UPDATE) "
    "UPDATE job SET state = 'queued', cancel_requested = false, failures = '[]',"
    "  avoid_node_ids = '{}', same_nodes = false, not_before = now(), start_time = NULL,"
    "  end_time = NULL, revision = pg_current_xact_id()::text::bigint "
    "FROM ended WHERE job.job_id = ended.job_id RETURNING 1";

// Copies the jobs of the latest run, which consists of repetition $2 and all later ones. The copies
// have new seeds, and repetition numbers increased by $3. The seeds must be unpredictable, so they
// are hashes of UUIDs that PostgreSQL generates from cryptographically strong random numbers.
constexpr const char* kCopyJobs =
    "INSERT INTO job (job_id, campaign_id, benchmark, benchmark_index, benchmark_version, resource,"
    "  cases, case_count, world_size, node_count, candidate_set, candidate_node_ids, gpu_indices,"
    "  exclusive_node, timeout_ns, repetition, seed) "
    "SELECT gen_random_uuid()::text, campaign_id, benchmark, benchmark_index, benchmark_version,"
    "  resource, cases, case_count, world_size, node_count, candidate_set, candidate_node_ids,"
    "  gpu_indices, exclusive_node, timeout_ns, repetition + $3,"
    "  ('x' || left(encode(sha256(gen_random_uuid()::text::bytea), 'hex'), 16))::bit(64)::bigint "
    "FROM job WHERE campaign_id = $1 AND repetition >= $2 ORDER BY sequence RETURNING case_count";

}  // namespace

Status RerunCampaign(Transaction& transaction, const JobStore::RerunRequest& request) {
  const pqxx::result rows =
      transaction.exec_params("SELECT name, state, verdict, spec, " + Microseconds("now()") +
                                  " AS now FROM campaign WHERE campaign_id = $1 FOR NO KEY UPDATE",
                              request.campaign_id);
  if (rows.empty()) return NotFound("no campaign \"" + request.campaign_id + "\"");
  v1::CampaignSpec spec;
  spec.ParseFromString(BytesOf(rows[0]["spec"]));
  v1::Campaign campaign;
  campaign.set_name(rows[0]["name"].as<std::string>());
  campaign.set_state(EnumOf<v1::CampaignState>(rows[0]["state"]));
  campaign.set_verdict(EnumOf<v1::Verdict>(rows[0]["verdict"]));
  *campaign.mutable_reruns() = spec.reruns();
  ASSAY_ASSIGN_OR_RETURN(std::optional<v1::Rerun> rerun,
                         NewRerun(request, campaign, TimeOf(rows[0]["now"])));
  if (!rerun) return Status::Ok();
  const int first = LatestRun(spec.reruns(), request.repetitions);
  const pqxx::result queued =
      request.failed_only
          ? transaction.exec_params(kQueueFailed, request.campaign_id, first)
          : transaction.exec_params(kCopyJobs, request.campaign_id, first, request.repetitions);
  if (queued.empty()) return NothingToRerun(campaign);
  if (!request.failed_only) {
    int64_t cases = 0;
    for (const auto& job : queued) cases += job[0].as<int64_t>();
    // Count the new jobs here, because the trigger of the table `job` counts only updates.
    transaction.exec_params(
        "UPDATE job_count SET queued = queued + $2, case_count = case_count + $3 "
        "WHERE campaign_id = $1 AND shard = 0",
        request.campaign_id, queued.size(), cases);
  }
  rerun->set_job_count(static_cast<int>(queued.size()));
  *spec.add_reruns() = *std::move(rerun);
  transaction.exec_params(
      "UPDATE campaign SET state = 'active', cancel_requested = false, verdict = NULL,"
      "  rules = NULL, end_time = NULL, pause_time = NULL, spec = $2::bytea WHERE campaign_id = $1",
      request.campaign_id, HexLiteral(DeterministicBytes(spec)));
  transaction.exec_params("SELECT pg_notify($1, '')", kJobsQueuedChannel);
  return Status::Ok();
}

}  // namespace assay::storage
