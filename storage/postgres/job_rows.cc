#include "storage/postgres/job_rows.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "storage/postgres/sql.h"
#include "storage/store_rules.h"
#include "wire/reasons.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

// Selects the names of the nodes in `ids`, an SQL expression.
std::string NamesOf(const std::string& ids) {
  return "ARRAY(SELECT coalesce(n.name, place.id)"
         "      FROM unnest(" +
         ids +
         ") WITH ORDINALITY AS place(id, rank)"
         "      LEFT JOIN node n ON n.node_id = place.id ORDER BY place.rank)";
}

LeasedJob LeasedOf(const pqxx::row& row, NodeIds candidates) {
  LeasedJob leased;
  leased.campaign_id = row["campaign_id"].as<std::string>();
  NewJob& job = leased.job;
  job.job_id = row["job_id"].as<std::string>();
  job.benchmark = row["benchmark"].as<std::string>();
  job.benchmark_version = row["benchmark_version"].as<int>();
  job.resource = EnumOf<v1::ResourceKind>(row["resource"]);
  v1::JobSpec spec;
  spec.ParseFromString(BytesOf(row["cases"]));
  job.cases.assign(spec.cases().begin(), spec.cases().end());
  job.counters = spec.counters();
  job.mixed_gpus = spec.mixed_gpus();
  job.effort = spec.effort();
  job.nccl.insert(spec.nccl().begin(), spec.nccl().end());
  job.world_size = row["world_size"].as<int>();
  job.node_count = row["node_count"].as<int>();
  job.candidate_node_ids = std::move(candidates);
  job.gpu_indices = IntegersOf(row["gpu_indices"]);
  job.exclusive_node = row["exclusive_node"].as<bool>();
  job.timeout = Duration(row["timeout_ns"].as<int64_t>());
  job.repetition = row["repetition"].as<int>();
  job.seed = static_cast<uint64_t>(row["seed"].as<int64_t>());
  leased.epoch = row["epoch"].as<int64_t>();
  leased.node_ids = TextsOf(row["node_ids"]);
  if (!row["start_time"].is_null()) leased.start_time = TimeOf(row["start_time"]);
  leased.done_cases = IntegersOf(row["done_cases"]);
  for (const auto& failure : nlohmann::json::parse(row["failures"].c_str())) {
    leased.failures.push_back({EnumOf<v1::FailureClass>(failure["class"].get<std::string>()),
                               ToWire(ReasonOfWord(failure["reason"].get<std::string>())),
                               failure["nodes"], failure["node"], failure["also"]});
  }
  leased.retries = row["retries"].as<int>();
  leased.cancel_requested = row["cancel_requested"].as<bool>();
  leased.state = EnumOf<v1::JobState>(row["state"]);
  return leased;
}

}  // namespace

std::string CampaignColumns() {
  return "c.campaign_id, c.name, c.state, c.verdict, c.rules, c.priority, " +
         Microseconds("c.create_time") + " AS create_time, " + Microseconds("c.end_time") +
         " AS end_time, " + Microseconds("c.pause_time") +
         " AS pause_time, c.paused_by, c.spec, t.*";
}

v1::Campaign CampaignOf(const pqxx::row& row) {
  v1::Campaign message;
  message.ParseFromString(BytesOf(row["rules"]));
  message.set_campaign_id(row["campaign_id"].as<std::string>());
  message.set_name(row["name"].as<std::string>());
  message.set_state(EnumOf<v1::CampaignState>(row["state"]));
  message.set_verdict(EnumOf<v1::Verdict>(row["verdict"]));
  message.set_priority(row["priority"].as<int>());
  *message.mutable_create_time() = schema::ToTimestamp(TimeOf(row["create_time"]));
  if (!row["end_time"].is_null()) {
    *message.mutable_end_time() = schema::ToTimestamp(TimeOf(row["end_time"]));
  }
  if (message.state() == v1::CAMPAIGN_STATE_ACTIVE && !row["pause_time"].is_null()) {
    *message.mutable_pause_time() = schema::ToTimestamp(TimeOf(row["pause_time"]));
    message.set_paused_by(row["paused_by"].as<std::string>(""));
  }
  message.mutable_spec()->ParseFromString(BytesOf(row["spec"]));
  MoveOutOfSpec(&message);
  v1::JobCounts* jobs = message.mutable_jobs();
  jobs->set_queued(row["queued"].as<int>());
  jobs->set_running(row["running"].as<int>());
  jobs->set_succeeded(row["succeeded"].as<int>());
  jobs->set_failed(row["failed"].as<int>());
  jobs->set_cancelled(row["cancelled"].as<int>());
  jobs->set_skipped(row["skipped"].as<int>());
  message.set_case_count(row["case_count"].as<int>());
  message.set_cases_done(row["cases_done"].as<int>());
  return message;
}

// The statement looks up the names of the nodes in a candidate set once, instead of once per job.
std::string JobsOfCampaign() {
  const std::string most = std::to_string(kNamedCandidates);
  return "WITH choice AS MATERIALIZED ("
         "  SELECT s.candidate_set, greatest(cardinality(s.node_ids) - " +
         most + ", 0) AS more_nodes, " + NamesOf("s.node_ids[1:" + most + "]") +
         "    AS names FROM candidate_set s WHERE s.campaign_id = $1) "
         "SELECT j.job_id, j.campaign_id, j.benchmark, j.state, j.epoch, j.attempts, j.repetition, "
         "j.case_count, j.cases_done, j.world_size, j.gpu_indices, j.failure, j.sequence, "
         "j.benchmark_index, "
         "CASE WHEN placed.already THEN " +
         NamesOf("j.node_ids") + "  ELSE coalesce(choice.names, " +
         NamesOf("j.candidate_node_ids") +
         ") END AS node_names, "
         "CASE WHEN placed.already THEN 0 ELSE coalesce(choice.more_nodes, 0) END AS more_nodes, " +
         Microseconds("j.create_time") + " AS create_time, " + Microseconds("j.start_time") +
         " AS start_time, " + Microseconds("j.end_time") +
         " AS end_time "
         "FROM job j LEFT JOIN choice ON choice.candidate_set = j.candidate_set "
         "CROSS JOIN LATERAL (SELECT j.state <> 'queued' AND cardinality(j.node_ids) > 0 AS "
         "already) "
         "placed "
         "WHERE j.campaign_id = $1";
}

v1::Job JobOf(const pqxx::row& row) {
  v1::Job message;
  message.set_job_id(row["job_id"].as<std::string>());
  message.set_campaign_id(row["campaign_id"].as<std::string>());
  message.set_benchmark(row["benchmark"].as<std::string>());
  if (!row["benchmark_index"].is_null()) {
    message.set_benchmark_index(row["benchmark_index"].as<int>());
  }
  message.set_state(EnumOf<v1::JobState>(row["state"]));
  message.set_epoch(row["epoch"].as<int64_t>());
  message.set_attempts(row["attempts"].as<int>());
  message.set_repetition(row["repetition"].as<int>());
  message.set_case_count(row["case_count"].as<int>());
  message.set_cases_done(row["cases_done"].as<int>());
  message.set_world_size(row["world_size"].as<int>());
  for (const std::string& name : TextsOf(row["node_names"])) message.add_node_names(name);
  message.set_more_node_count(row["more_nodes"].as<int>());
  for (int gpu : IntegersOf(row["gpu_indices"])) message.add_gpu_indices(gpu);
  if (!row["failure"].is_null()) {
    message.mutable_failure()->ParseFromString(BytesOf(row["failure"]));
  }
  *message.mutable_create_time() = schema::ToTimestamp(TimeOf(row["create_time"]));
  if (!row["start_time"].is_null()) {
    *message.mutable_start_time() = schema::ToTimestamp(TimeOf(row["start_time"]));
  }
  if (!row["end_time"].is_null()) {
    *message.mutable_end_time() = schema::ToTimestamp(TimeOf(row["end_time"]));
  }
  return message;
}

std::vector<NodeIds> CandidateSets::Of(Transaction& transaction, const pqxx::result& rows) {
  std::vector<Key> keys;
  for (const auto& row : rows) {
    const pqxx::field number = row["candidate_set"];
    if (!number.is_null())
      keys.emplace_back(row["campaign_id"].as<std::string>(), number.as<int>());
  }
  Sets sets = KeptOf(keys);
  ArrayLiteral campaigns, numbers;
  bool all = true;
  for (const Key& key : keys) {
    if (!sets.try_emplace(key).second) continue;
    all = false;
    campaigns.Add(key.first);
    numbers.Add(static_cast<int64_t>(key.second));
  }
  if (!all) {
    for (const auto& row : transaction.exec_params(
             "SELECT campaign_id, candidate_set, node_ids FROM candidate_set "
             "JOIN unnest($1::text[], $2::int[]) AS wanted(campaign_id, candidate_set)"
             "  USING (campaign_id, candidate_set)",
             campaigns.Finish(), numbers.Finish())) {
      sets[{row[0].as<std::string>(), row[1].as<int>()}] = TextsOf(row[2]);
    }
    Keep(sets);
  }
  std::vector<NodeIds> candidates;
  auto key = keys.begin();
  for (const auto& row : rows) {
    const bool shared = !row["candidate_set"].is_null();
    candidates.push_back(shared ? sets[*key++] : NodeIds(TextsOf(row["candidate_node_ids"])));
  }
  return candidates;
}

CandidateSets::Sets CandidateSets::KeptOf(const std::vector<Key>& keys) {
  Sets sets;
  MutexLock lock(mutex_);
  for (const Key& key : keys) {
    const auto kept = kept_.find(key);
    if (kept != kept_.end()) sets.insert(*kept);
  }
  return sets;
}

void CandidateSets::Keep(const Sets& sets) {
  MutexLock lock(mutex_);
  std::erase_if(kept_, [](const auto& kept) { return kept.second.sharers() == 1; });
  kept_.insert(sets.begin(), sets.end());
}

std::string LeasedColumns() {
  return "j.job_id, j.campaign_id, j.benchmark, j.benchmark_version, j.resource, j.cases, "
         "j.world_size, j.node_count, j.candidate_set, j.candidate_node_ids, j.gpu_indices, "
         "j.exclusive_node, "
         "j.timeout_ns, j.repetition, j.seed, j.epoch, j.node_ids, j.failures, "
         "j.cancel_requested, j.state, " +
         Microseconds("j.start_time") +
         " AS start_time, "
         "(SELECT c.retries FROM campaign c WHERE c.campaign_id = j.campaign_id) AS retries, "
         "ARRAY(SELECT d.case_index FROM case_result d WHERE d.job_id = j.job_id"
         "      ORDER BY d.case_index) AS done_cases";
}

std::vector<LeasedJob> LeasedJobsOf(Transaction& transaction, const pqxx::result& rows,
                                    CandidateSets& sets) {
  std::vector<NodeIds> candidates = sets.Of(transaction, rows);
  std::vector<LeasedJob> leased;
  for (const auto& row : rows) {
    leased.push_back(LeasedOf(row, std::move(candidates[leased.size()])));
  }
  return leased;
}

}  // namespace assay::storage
