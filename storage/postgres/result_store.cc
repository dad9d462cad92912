#include "storage/postgres/result_store.h"

#include <map>
#include <optional>
#include <utility>

#include "common/digest.h"
#include "common/log.h"
#include "storage/identity.h"
#include "storage/import.h"
#include "storage/page_token.h"
#include "storage/payload.h"
#include "storage/postgres/filter_to_sql.h"
#include "storage/postgres/insert_campaign.h"
#include "storage/postgres/result_columns.h"
#include "storage/postgres/samples.h"
#include "storage/postgres/sql.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

constexpr size_t kMaxCachedSeries = 200'000;

// Fences, deduplicates, counts and stores in one statement; each case comes once.
// Returns for each case, in order: whether it was stored now, whether its job
// exists, whether that is held under its epoch, whether it has such a case, and
// the hash of what was stored before.
constexpr const char* kInsert =
    "WITH input AS ("
    "  SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::text[], $5::bytea[])"
    "    WITH ORDINALITY AS i(job_id, epoch, case_index, hash, payload, position)),"
    "locked AS ("
    "  SELECT job_id, epoch, state, campaign_id, repetition, case_count FROM job"
    "  WHERE job_id = ANY($1::text[]) ORDER BY job_id FOR NO KEY UPDATE),"
    "judged AS ("
    "  SELECT i.*, l.campaign_id, l.repetition, l.state = 2 AND l.epoch = i.epoch AS held,"
    "    i.case_index >= 0 AND i.case_index < l.case_count AS known"
    "  FROM input i JOIN locked l USING (job_id)),"
    "fresh AS ("
    "  INSERT INTO case_result (job_id, case_index, epoch, payload_hash, payload)"
    "  SELECT job_id, case_index, epoch, hash, payload FROM judged WHERE held AND known"
    "  ORDER BY job_id, case_index ON CONFLICT DO NOTHING RETURNING job_id, case_index),"
    "counted AS ("
    "  UPDATE job SET cases_done = cases_done + f.n,"
    "    revision = pg_current_xact_id()::text::bigint"
    "  FROM (SELECT job_id, count(*)::int AS n FROM fresh GROUP BY job_id) f"
    "  WHERE job.job_id = f.job_id),"
    "stored AS ("
    "  INSERT INTO result (result_id, series_key, campaign_id, job_id, case_index, is_primary,"
    "    repetition, outcome, gpu_id, measurement, n, median, mad, p05, p95, ci_low, ci_high,"
    "    efficiency_spec, price_per_hour, start_time, end_time, node_ids, node_names, gpu_uuids,"
    "    provider, region, kernel, agent_version, flags, regime, failure_reason,"
    "    imported_from, stop_reason, link_model)"
    "  SELECT v.result_id, v.series_key, judged.campaign_id, v.job_id, v.case_index, v.main = 1,"
    "    judged.repetition, v.outcome, v.gpu_id, v.measurement, v.n, v.median, v.mad, v.p05,"
    "    v.p95, v.ci_low, v.ci_high, v.efficiency, v.price, to_timestamp(v.began),"
    "    to_timestamp(v.ended), v.node_ids::text[], v.node_names::text[], v.gpu_uuids::text[],"
    "    v.provider, v.region, v.kernel, v.agent_version, v.flags::text[], v.regime,"
    "    v.failure_reason, v.imported_from, v.stop_reason, v.link_model::float8[]"
    "  FROM unnest($6::text[], $7::int[], $8::uuid[], $9::bigint[], $10::int[], $11::smallint[],"
    "    $12::text[], $13::bytea[], $14::int[], $15::float8[], $16::float8[], $17::float8[],"
    "    $18::float8[], $19::float8[], $20::float8[], $21::float8[], $22::float8[],"
    "    $23::float8[], $24::float8[], $25::text[], $26::text[], $27::text[], $28::text[],"
    "    $29::text[], $30::text[], $31::text[], $32::text[], $33::text[], $34::text[],"
    "    $35::text[], $36::text[], $37::text[])"
    "    WITH ORDINALITY"
    "    AS v(job_id, case_index, result_id, series_key, main, outcome, gpu_id, measurement, n,"
    "         median, mad, p05, p95, ci_low, ci_high, efficiency, price, began, ended, node_ids,"
    "         node_names, gpu_uuids, provider, region, kernel, agent_version, flags, regime,"
    "         failure_reason, imported_from, stop_reason, link_model, position)"
    "  JOIN fresh USING (job_id, case_index) JOIN judged USING (job_id, case_index)"
    "  ORDER BY v.position RETURNING result_id),"
    "sampled AS ("
    "  INSERT INTO sample (result_id, n, data)"
    "  SELECT result_id, n, data FROM unnest($38::uuid[], $39::int[], $40::bytea[])"
    "    AS s(result_id, n, data) JOIN stored USING (result_id)) "
    "SELECT fresh.job_id IS NOT NULL AS stored, judged.job_id IS NOT NULL AS exists,"
    "  coalesce(judged.held, false) AS held, coalesce(judged.known, false) AS known,"
    "  before.payload_hash AS hash "
    "FROM input i LEFT JOIN judged USING (position)"
    "  LEFT JOIN fresh ON fresh.job_id = i.job_id AND fresh.case_index = i.case_index"
    "  LEFT JOIN case_result before"
    "    ON before.job_id = i.job_id AND before.case_index = i.case_index "
    "ORDER BY i.position";

CommitOutcome OutcomeOf(const pqxx::row& row, const std::string& before, const std::string& hash) {
  if (row["stored"].as<bool>()) return {CommitVerdict::kStored, true};
  if (!row["exists"].as<bool>()) return {CommitVerdict::kStale, false};
  if (!row["known"].as<bool>()) return {CommitVerdict::kConflict, false};
  if (before == hash) return {CommitVerdict::kStored, false};
  return {row["held"].as<bool>() ? CommitVerdict::kConflict : CommitVerdict::kStale, false};
}

// What another transaction stored while kInsert waited for it: its snapshot is too
// old to see that.
std::string StoredHash(pqxx::transaction_base& transaction, const v1::CaseResult& result) {
  const pqxx::result rows = transaction.exec_params(
      "SELECT payload_hash FROM case_result WHERE job_id = $1 AND case_index = $2", result.job_id(),
      result.case_index());
  return rows.empty() ? "" : rows[0][0].as<std::string>();
}

// Makes the rows' series known, and returns their keys by id.
std::unordered_map<std::string, int64_t> SeriesKeys(pqxx::transaction_base& transaction,
                                                    const std::vector<const ResultToStore*>& rows) {
  InsertSeries(transaction, rows);
  ArrayLiteral ids;
  for (const ResultToStore* row : rows) ids.Add(row->identity.series_id);
  std::unordered_map<std::string, int64_t> keys;
  for (const auto& row : transaction.exec_params(
           "SELECT series_id, series_key FROM series WHERE series_id = ANY($1::text[])",
           ids.Finish())) {
    keys[row[0].as<std::string>()] = row[1].as<int64_t>();
  }
  return keys;
}

// Ends the jobs and the campaign of an import, which its transaction has begun.
void EndImported(pqxx::transaction_base& transaction, const ImportedCampaign& imported) {
  v1::Verdict verdict = v1::VERDICT_PASSED;
  for (const NewJob& job : imported.campaign.jobs) {
    const std::optional<v1::Failure> failure = FailureOf(imported, job);
    if (failure) verdict = v1::VERDICT_FAILED;
    transaction.exec_params(
        "UPDATE job SET state = $2, failure = NULLIF($3, '')::bytea, end_time = now() "
        "WHERE job_id = $1",
        job.job_id, static_cast<int>(failure ? v1::JOB_STATE_FAILED : v1::JOB_STATE_SUCCEEDED),
        failure ? HexLiteral(DeterministicBytes(*failure)) : "");
  }
  transaction.exec_params(
      "UPDATE campaign SET state = $2, verdict = $3, end_time = now() WHERE campaign_id = $1",
      imported.campaign.campaign_id, static_cast<int>(v1::CAMPAIGN_STATE_COMPLETED),
      static_cast<int>(verdict));
}

}  // namespace

// Results on their way in, one a case, and the rows that they become.
struct PostgresResultStore::Batch {
  std::vector<const v1::CaseResult*> results;
  std::vector<std::vector<v1::StoredResult>> split;  // By result, then by metric.
  std::vector<ResultToStore> rows;
  std::vector<CommitOutcome> outcomes;

  explicit Batch(std::vector<const v1::CaseResult*> the_results) : results(std::move(the_results)) {
    for (const v1::CaseResult* result : results) split.push_back(schema::SplitByMetric(*result));
    for (const auto& metrics : split) {
      for (const v1::StoredResult& metric : metrics) {
        rows.push_back({&metric.case_result(), IdentityOf(metric.case_result()), 0,
                        metric.primary()});
      }
    }
  }
};

Result<std::vector<CommitOutcome>> PostgresResultStore::Commit(
    const std::vector<v1::CaseResult>& results) {
  // Of several results for one case, each waits for the one before it.
  std::vector<CommitOutcome> outcomes(results.size());
  std::vector<size_t> left(results.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    std::map<std::pair<std::string, int>, size_t> first;
    std::vector<size_t> later;
    for (size_t i : left) {
      if (!first.try_emplace({results[i].job_id(), results[i].case_index()}, i).second) {
        later.push_back(i);
      }
    }
    std::vector<size_t> positions;
    std::vector<const v1::CaseResult*> batch;
    for (size_t i : left) {
      if (first[{results[i].job_id(), results[i].case_index()}] != i) continue;
      positions.push_back(i);
      batch.push_back(&results[i]);
    }
    ASSAY_ASSIGN_OR_RETURN(const std::vector<CommitOutcome> stored, CommitBatch(batch));
    for (size_t k = 0; k < positions.size(); ++k) outcomes[positions[k]] = stored[k];
    left = std::move(later);
  }
  return outcomes;
}

Result<std::vector<CommitOutcome>> PostgresResultStore::CommitBatch(
    const std::vector<const v1::CaseResult*>& results) {
  Batch batch(results);
  Status status = ResolveSeries(batch);
  const auto insert = [&](pqxx::transaction_base& transaction) {
    Insert(transaction, batch);
    return Status::Ok();
  };
  if (status.ok()) status = pool_.RunStatement("insert_results", insert);
  if (status.reason() == "NO_PARTITION") {
    ASSAY_RETURN_IF_ERROR(CreatePartitions());
    status = pool_.RunStatement("insert_results", insert);
  }
  if (status.ok()) return std::move(batch.outcomes);
  if (status.code() != Code::kInvalidArgument) return status;
  if (results.size() == 1) {
    Log().warn("refused case {} of job {}: {}", results[0]->case_index(), results[0]->job_id(),
               status.message());
    return std::vector<CommitOutcome>{{CommitVerdict::kConflict, false}};
  }
  std::vector<CommitOutcome> outcomes;
  for (const v1::CaseResult* result : results) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<CommitOutcome> one, CommitBatch({result}));
    outcomes.push_back(one[0]);
  }
  return outcomes;
}

Status PostgresResultStore::ResolveSeries(Batch& batch) {
  std::vector<const ResultToStore*> unknown;
  {
    MutexLock lock(mutex_);
    for (ResultToStore& row : batch.rows) {
      const auto it = series_keys_.find(row.identity.series_id);
      if (it == series_keys_.end()) {
        unknown.push_back(&row);
      } else {
        row.series_key = it->second;
      }
    }
  }
  if (unknown.empty()) return Status::Ok();
  std::unordered_map<std::string, int64_t> keys;
  ASSAY_RETURN_IF_ERROR(pool_.Run("insert_series", [&](pqxx::transaction_base& transaction) {
    keys = SeriesKeys(transaction, unknown);
    return Status::Ok();
  }));
  for (ResultToStore& row : batch.rows) {
    const auto it = keys.find(row.identity.series_id);
    if (it != keys.end()) row.series_key = it->second;
  }
  MutexLock lock(mutex_);
  if (series_keys_.size() > kMaxCachedSeries) series_keys_.clear();
  series_keys_.merge(keys);
  return Status::Ok();
}

void PostgresResultStore::Insert(pqxx::transaction_base& transaction, Batch& batch) {
  CaseColumns cases;
  for (const v1::CaseResult* result : batch.results) cases.Add(*result);
  ResultColumns rows;
  for (const ResultToStore& row : batch.rows) rows.Add(row);
  const pqxx::result stored = transaction.exec_params(
      kInsert, cases.job_ids.Finish(), cases.epochs.Finish(), cases.case_indices.Finish(),
      cases.hashes.Finish(), cases.payloads.Finish(), rows.job_ids.Finish(),
      rows.case_indices.Finish(), rows.result_ids.Finish(), rows.series_keys.Finish(),
      rows.primary.Finish(), rows.outcomes.Finish(), rows.gpu_ids.Finish(),
      rows.measurements.Finish(), rows.counts.Finish(), rows.medians.Finish(), rows.mads.Finish(),
      rows.p05s.Finish(), rows.p95s.Finish(), rows.ci_lows.Finish(), rows.ci_highs.Finish(),
      rows.efficiencies.Finish(), rows.prices.Finish(), rows.start_times.Finish(),
      rows.end_times.Finish(), rows.node_ids.Finish(), rows.node_names.Finish(),
      rows.gpu_uuids.Finish(), rows.providers.Finish(), rows.regions.Finish(),
      rows.kernels.Finish(), rows.agent_versions.Finish(), rows.flags.Finish(),
      rows.regimes.Finish(), rows.failure_reasons.Finish(), rows.origins.Finish(),
      rows.stop_reasons.Finish(), rows.link_models.Finish(), rows.sample_result_ids.Finish(),
      rows.sample_counts.Finish(), rows.sample_data.Finish());
  batch.outcomes.clear();
  for (size_t i = 0; i < batch.results.size(); ++i) {
    const pqxx::row row = stored[static_cast<pqxx::result::size_type>(i)];
    const v1::CaseResult& result = *batch.results[i];
    const std::string before = row["hash"].is_null() && row["known"].as<bool>()
                                   ? StoredHash(transaction, result)
                                   : row["hash"].as<std::string>("");
    batch.outcomes.push_back(OutcomeOf(row, before, PayloadHash(result)));
  }
}

Status PostgresResultStore::CreatePartitions() {
  return pool_.Run("create_partitions", [](pqxx::transaction_base& transaction) {
    transaction.exec("SELECT assay_create_partitions(3)");
    return Status::Ok();
  });
}

Result<ImportOutcome> PostgresResultStore::Import(const ImportedCampaign& imported) {
  ASSAY_RETURN_IF_ERROR(CheckImport(imported));
  std::vector<const v1::CaseResult*> results;
  for (const v1::CaseResult& result : imported.results) results.push_back(&result);
  Batch batch(std::move(results));
  ImportOutcome outcome;
  const auto store = [&](pqxx::transaction_base& transaction) -> Status {
    ASSAY_ASSIGN_OR_RETURN(outcome.campaign_id, InsertCampaign(transaction, imported.campaign));
    outcome.fresh = outcome.campaign_id == imported.campaign.campaign_id;
    if (!outcome.fresh) return Status::Ok();
    // As if under lease, so that results come in as all others do; nobody sees the jobs
    // before they have ended.
    transaction.exec_params(
        "UPDATE job SET state = 2, epoch = 1, attempts = 1, start_time = now() "
        "WHERE campaign_id = $1",
        outcome.campaign_id);
    std::vector<const ResultToStore*> rows;
    for (const ResultToStore& row : batch.rows) rows.push_back(&row);
    // Not remembered: this transaction may still come to nothing.
    const auto keys = SeriesKeys(transaction, rows);
    for (ResultToStore& row : batch.rows) {
      const auto key = keys.find(row.identity.series_id);
      if (key == keys.end()) return Internal("the series of an imported result was not made");
      row.series_key = key->second;
    }
    Insert(transaction, batch);
    for (const CommitOutcome& stored : batch.outcomes) {
      if (!stored.fresh) return Internal("an imported result was not stored");
    }
    EndImported(transaction, imported);
    return Status::Ok();
  };
  Status status = pool_.Run("import_results", store);
  if (status.reason() == "NO_PARTITION") {
    ASSAY_RETURN_IF_ERROR(CreatePartitions());
    status = pool_.Run("import_results", store);
  }
  if (!status.ok()) return status;
  return outcome;
}

Result<Page<v1::StoredResult>> PostgresResultStore::List(const std::string& filter_text,
                                                         const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(filter_text));
  ASSAY_ASSIGN_OR_RETURN(const SqlCondition condition, FilterToSql(filter));
  ASSAY_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken('r', request.token, INT64_MAX));
  Page<v1::StoredResult> page;
  ASSAY_RETURN_IF_ERROR(
      pool_.RunStatement("list_results", [&](pqxx::transaction_base& transaction) {
        PageFiller<v1::StoredResult> filler('r', request);
        for (const auto& row :
             transaction.exec_params("SELECT " + StoredColumns() + StoredTables() +
                                         "WHERE r.sequence < $2 AND $1::text[] IS NOT NULL AND " +
                                         condition.text + " ORDER BY r.sequence DESC LIMIT $3",
                                     ArrayOf(condition.values), before, PageSize(request) + 1)) {
          if (!filler.Add(StoredResultOf(row), row["sequence"].as<int64_t>())) break;
        }
        page = std::move(filler).Take();
        return Status::Ok();
      }));
  return page;
}

Result<v1::StoredResult> PostgresResultStore::Get(const std::string& result_id) {
  Status missing = NotFound("no result \"" + result_id + "\"");
  if (!IsUuid(result_id)) return missing;
  v1::StoredResult result;
  ASSAY_RETURN_IF_ERROR(pool_.RunStatement("get_result", [&](pqxx::transaction_base& transaction) {
    const pqxx::result rows = transaction.exec_params(
        "SELECT " + StoredColumns() + ", p.n AS sample_count, p.data AS sample_data " +
            StoredTables() + "LEFT JOIN sample p USING (result_id) WHERE r.result_id = $1::uuid",
        result_id);
    if (rows.empty()) return missing;
    result = StoredResultOf(rows[0]);
    if (rows[0]["sample_data"].is_null()) return Status::Ok();
    return DecompressSamples(
        BytesOf(rows[0]["sample_data"]), rows[0]["sample_count"].as<int>(),
        result.mutable_case_result()->mutable_measurements(0)->mutable_samples());
  }));
  return result;
}

Result<std::vector<v1::StoredResult>> PostgresResultStore::ListOfCampaign(
    const std::string& campaign_id) {
  std::vector<v1::StoredResult> results;
  ASSAY_RETURN_IF_ERROR(
      pool_.RunStatement("list_campaign_results", [&](pqxx::transaction_base& transaction) {
        results.clear();
        for (const auto& row :
             transaction.exec_params("SELECT " + StoredColumns() + StoredTables() +
                                         "WHERE r.campaign_id = $1 ORDER BY r.sequence",
                                     campaign_id)) {
          results.push_back(StoredResultOf(row));
        }
        return Status::Ok();
      }));
  return results;
}

}  // namespace assay::storage
