#include "storage/postgres/insert_campaign.h"

#include <algorithm>
#include <map>

#include "storage/payload.h"
#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

// Jobs are sent in batches of this many, so that no statement grows without bound.
constexpr size_t kJobsPerInsert = 5000;

// The number of each distinct list of candidates of jobs with a choice.
using SetNumbers = std::map<NodeIds, int64_t>;

SetNumbers InsertCandidateSets(pqxx::transaction_base& transaction, const NewCampaign& campaign) {
  SetNumbers sets;
  ArrayLiteral numbers, lists;
  for (const NewJob& job : campaign.jobs) {
    if (!HasChoice(job)) continue;
    const auto number = static_cast<int64_t>(sets.size());
    if (!sets.try_emplace(job.candidate_node_ids, number).second) continue;
    numbers.Add(number);
    lists.Add(ArrayOf(job.candidate_node_ids));
  }
  if (!sets.empty()) {
    transaction.exec_params(
        "INSERT INTO candidate_set (campaign_id, candidate_set, node_ids) "
        "SELECT $1, number, list::text[] FROM unnest($2::int[], $3::text[]) AS v(number, list)",
        campaign.campaign_id, numbers.Finish(), lists.Finish());
  }
  return sets;
}

void InsertJobs(pqxx::transaction_base& transaction, const NewCampaign& campaign,
                const SetNumbers& candidate_sets, size_t begin, size_t end) {
  ArrayLiteral ids, benchmarks, versions, resources, cases, counts, worlds, nodes, candidates, sets,
      gpus, exclusive, timeouts, repetitions, seeds, entries;
  for (size_t i = begin; i < end; ++i) {
    const NewJob& job = campaign.jobs[i];
    v1::JobSpec spec;
    for (const v1::BenchmarkCase& one : job.cases) *spec.add_cases() = one;
    // Beside the cases, so that no column is needed.
    spec.set_counters(job.counters);
    spec.set_mixed_gpus(job.mixed_gpus);
    spec.mutable_nccl()->insert(job.nccl.begin(), job.nccl.end());
    ids.Add(job.job_id);
    benchmarks.Add(job.benchmark);
    versions.Add(static_cast<int64_t>(job.benchmark_version));
    resources.Add(static_cast<int64_t>(job.resource));
    cases.Add(HexLiteral(DeterministicBytes(spec)));
    counts.Add(static_cast<int64_t>(job.cases.size()));
    worlds.Add(static_cast<int64_t>(job.world_size));
    nodes.Add(static_cast<int64_t>(job.node_count));
    if (HasChoice(job)) {
      candidates.Add("{}");
      sets.Add(candidate_sets.at(job.candidate_node_ids));
    } else {
      candidates.Add(ArrayOf(job.candidate_node_ids));
      sets.AddNull();
    }
    gpus.Add(ArrayOf(job.gpu_indices));
    exclusive.Add(static_cast<int64_t>(job.exclusive_node ? 1 : 0));
    timeouts.Add(static_cast<int64_t>(job.timeout.count()));
    repetitions.Add(static_cast<int64_t>(job.repetition));
    seeds.Add(static_cast<int64_t>(job.seed));
    if (job.benchmark_index) {
      entries.Add(static_cast<int64_t>(*job.benchmark_index));
    } else {
      entries.AddNull();
    }
  }
  transaction.exec_params(
      "INSERT INTO job (job_id, campaign_id, benchmark, benchmark_version, resource, cases,"
      "  case_count, world_size, node_count, candidate_node_ids, gpu_indices, exclusive_node,"
      "  timeout_ns, repetition, seed, benchmark_index, candidate_set) "
      "SELECT id, $15, benchmark, version, resource, cases, count, world, nodes,"
      "  candidates::text[], gpus::int[], exclusive = 1, timeout, repetition, seed, entry,"
      "  candidate_set "
      "FROM unnest($1::text[], $2::text[], $3::int[], $4::smallint[], $5::bytea[], $6::int[],"
      "  $7::int[], $8::int[], $9::text[], $10::text[], $11::int[], $12::bigint[], $13::int[],"
      "  $14::bigint[], $16::int[], $17::int[]) WITH ORDINALITY AS v(id, benchmark, version, "
      "resource, cases,"
      "  count, world, nodes, candidates, gpus, exclusive, timeout, repetition, seed, entry,"
      "  candidate_set, position) "
      "ORDER BY position",
      ids.Finish(), benchmarks.Finish(), versions.Finish(), resources.Finish(), cases.Finish(),
      counts.Finish(), worlds.Finish(), nodes.Finish(), candidates.Finish(), gpus.Finish(),
      exclusive.Finish(), timeouts.Finish(), repetitions.Finish(), seeds.Finish(),
      campaign.campaign_id, entries.Finish(), sets.Finish());
}

}  // namespace

Result<std::string> InsertCampaign(pqxx::transaction_base& transaction,
                                   const NewCampaign& campaign) {
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
    return Status(Code::kAlreadyExists, "CAMPAIGN_EXISTS",
                  "campaign " + campaign.campaign_id + " exists already");
  }
  const SetNumbers candidate_sets = InsertCandidateSets(transaction, campaign);
  for (size_t begin = 0; begin < campaign.jobs.size(); begin += kJobsPerInsert) {
    InsertJobs(transaction, campaign, candidate_sets, begin,
               std::min(begin + kJobsPerInsert, campaign.jobs.size()));
  }
  return campaign.campaign_id;
}

}  // namespace assay::storage
