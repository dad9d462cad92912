#include "storage/postgres/insert_campaign.h"

#include <map>
#include <nlohmann/json.hpp>

#include "storage/postgres/sql.h"
#include "storage/store_rules.h"

namespace assay::storage {
namespace {

// The maximum number of jobs per statement, which limits the size of statements.
constexpr size_t kJobsPerInsert = 5000;

using Json = nlohmann::json;

const std::vector<std::string>& Texts(const NodeIds& ids) { return ids; }

// Numbers the distinct lists of candidates of jobs with a choice.
using SetNumbers = std::map<NodeIds, int64_t>;

SetNumbers InsertCandidateSets(Transaction& transaction, const NewCampaign& campaign) {
  SetNumbers sets;
  Json rows;
  for (const NewJob& job : campaign.jobs) {
    if (!HasChoice(job)) continue;
    const auto number = static_cast<int64_t>(sets.size());
    if (!sets.try_emplace(job.candidate_node_ids, number).second) continue;
    rows.push_back({{"campaign_id", campaign.campaign_id},
                    {"candidate_set", number},
                    {"node_ids", Texts(job.candidate_node_ids)}});
  }
  if (!sets.empty()) {
    transaction.exec_params(
        "INSERT INTO candidate_set "
        "SELECT * FROM json_populate_recordset(NULL::candidate_set, $1)",
        rows.dump());
  }
  return sets;
}

Json JobRow(const NewCampaign& campaign, const NewJob& job, const SetNumbers& candidate_sets) {
  v1::JobSpec spec;
  for (const v1::BenchmarkCase& one : job.cases) *spec.add_cases() = one;
  // Store these settings in the column of the cases, so that they need no columns of their own.
  spec.set_counters(job.counters);
  spec.set_mixed_gpus(job.mixed_gpus);
  spec.set_effort(job.effort);
  spec.mutable_nccl()->insert(job.nccl.begin(), job.nccl.end());
  Json row = {{"job_id", job.job_id},
              {"campaign_id", campaign.campaign_id},
              {"benchmark", job.benchmark},
              {"benchmark_version", job.benchmark_version},
              {"cases", HexLiteral(DeterministicBytes(spec))},
              {"case_count", job.cases.size()},
              {"world_size", job.world_size},
              {"node_count", job.node_count},
              {"candidate_node_ids", Json::array()},
              {"gpu_indices", job.gpu_indices},
              {"exclusive_node", job.exclusive_node},
              {"timeout_ns", job.timeout.count()},
              {"repetition", job.repetition},
              {"seed", static_cast<int64_t>(job.seed)}};
  if (job.resource != v1::RESOURCE_KIND_UNSPECIFIED) row["resource"] = WordOf(job.resource);
  if (job.benchmark_index) row["benchmark_index"] = *job.benchmark_index;
  if (HasChoice(job)) {
    row["candidate_set"] = candidate_sets.at(job.candidate_node_ids);
  } else {
    row["candidate_node_ids"] = Texts(job.candidate_node_ids);
  }
  return row;
}

Status InsertJobs(Transaction& transaction, const Json& jobs) {
  static constexpr const char* kColumns =
      "job_id, campaign_id, benchmark, benchmark_index, benchmark_version, resource, cases,"
      " case_count, world_size, node_count, candidate_set, candidate_node_ids, gpu_indices,"
      " exclusive_node, timeout_ns, repetition, seed";
  ASSAY_ASSIGN_OR_RETURN(const std::string rows, StorableJson(jobs));
  transaction.exec_params(std::string("INSERT INTO job (") + kColumns + ") SELECT " + kColumns +
                              " FROM json_populate_recordset(NULL::job, $1) WITH ORDINALITY "
                              "ORDER BY ordinality",
                          rows);
  return Status::Ok();
}

}  // namespace

Result<std::string> InsertCampaign(Transaction& transaction, const NewCampaign& campaign) {
  const pqxx::result inserted = transaction.exec_params(
      "INSERT INTO campaign (campaign_id, request_id, name, spec, priority, retries) "
      "VALUES ($1, $2, $3, $4::bytea, $5, $6) ON CONFLICT DO NOTHING RETURNING 1",
      campaign.campaign_id, campaign.request_id, campaign.spec.name(),
      HexLiteral(DeterministicBytes(campaign.spec)), campaign.spec.priority(),
      campaign.spec.retries());
  if (inserted.empty()) {
    const pqxx::result before = transaction.exec_params(
        "SELECT campaign_id FROM campaign WHERE request_id = $1", campaign.request_id);
    if (!before.empty()) return before[0][0].as<std::string>();
    return Status(Code::kAlreadyExists, Reason::kCampaignExists,
                  "campaign " + campaign.campaign_id + " exists already");
  }
  const SetNumbers candidate_sets = InsertCandidateSets(transaction, campaign);
  size_t case_count = 0;
  for (const NewJob& job : campaign.jobs) case_count += job.cases.size();
  transaction.exec_params(
      "INSERT INTO job_count (campaign_id, shard, queued, case_count) VALUES ($1, 0, $2, $3)",
      campaign.campaign_id, campaign.jobs.size(), case_count);
  Json rows;
  for (const NewJob& job : campaign.jobs) {
    rows.push_back(JobRow(campaign, job, candidate_sets));
    if (rows.size() < kJobsPerInsert && &job != &campaign.jobs.back()) continue;
    ASSAY_RETURN_IF_ERROR(InsertJobs(transaction, rows));
    rows.clear();
  }
  return campaign.campaign_id;
}

}  // namespace assay::storage
