#include "storage/postgres/insert_results.h"

#include <map>
#include <set>
#include <utility>

#include "common/uuid.h"
#include "storage/identity.h"
#include "storage/postgres/prepared.h"
#include "storage/postgres/sql.h"
#include "storage/store_rules.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

// The state of a job that the transaction has locked.
struct LockedJob {
  std::string campaign_id;
  int repetition = 0;
  int64_t epoch = 0;
  int case_count = 0;
  // True if the job accepts results of its latest attempt. It does so until a newer attempt begins,
  // even if the latest one has failed or been abandoned.
  bool open = false;
};
using LockedJobs = std::map<std::string, LockedJob>;  // By job id.

// Locks the jobs of the batch, in the order in which every transaction locks jobs.
LockedJobs LockJobs(Transaction& transaction, const Batch& batch) {
  static const std::string sql =
      "SELECT job_id, campaign_id, repetition, epoch, case_count,"
      "  state IN ('running', 'queued', 'failed') AND epoch > 0 AS open "
      "FROM job WHERE job_id = ANY($1::text[]) ORDER BY job_id FOR NO KEY UPDATE";
  std::set<std::string> ids;
  for (const SentResult* sent : batch.results) ids.insert(sent->result.job_id());
  LockedJobs jobs;
  for (const auto& row : ExecPrepared(transaction, sql, ArrayOf(ids))) {
    jobs[row[0].as<std::string>()] = {row[1].as<std::string>(), row[2].as<int>(),
                                      row[3].as<int64_t>(), row[4].as<int>(), row[5].as<bool>()};
  }
  return jobs;
}

bool Knows(const LockedJob& job, const v1::CaseResult& result) {
  return result.case_index() >= 0 && result.case_index() < job.case_count;
}

bool Holds(const LockedJob& job, const v1::CaseResult& result) {
  return job.open && job.epoch == result.epoch();
}

// Inserts the results that their jobs accept, except for cases that already have one. Sets the
// outcomes of the inserted results.
void InsertCases(Transaction& transaction, const LockedJobs& jobs, Batch& batch) {
  static const std::string sql =
      "INSERT INTO case_result (job_id, case_index, epoch, payload_hash, payload) "
      "SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bytea[], $5::bytea[]) "
      "ON CONFLICT DO NOTHING RETURNING job_id, case_index";
  std::map<std::pair<std::string, int>, size_t> positions;
  for (size_t i = 0; i < batch.results.size(); ++i) {
    const v1::CaseResult& result = batch.results[i]->result;
    const auto job = jobs.find(result.job_id());
    if (job == jobs.end() || !Holds(job->second, result) || !Knows(job->second, result)) continue;
    positions[{result.job_id(), result.case_index()}] = i;
  }
  if (positions.empty()) return;
  ArrayLiteral ids, indices, epochs, hashes, payloads;
  for (const auto& [one, position] : positions) {
    const SentResult& sent = *batch.results[position];
    ids.Add(one.first);
    indices.Add(int64_t{one.second});
    epochs.Add(int64_t{sent.result.epoch()});
    hashes.Add("\\x" + sent.hash);
    payloads.AddBytes(PayloadOf(sent.result));
  }
  for (const auto& row : ExecPrepared(transaction, sql, ids.Finish(), indices.Finish(),
                                      epochs.Finish(), hashes.Finish(), payloads.Finish())) {
    const size_t position = positions.at({row[0].as<std::string>(), row[1].as<int>()});
    batch.outcomes[position] = {CommitVerdict::kStored, true};
  }
}

// Sets the outcomes of the results that InsertCases did not insert, by comparing them with the
// stored ones. Must run after InsertCases, because only a later statement is certain to see all
// results stored by concurrent transactions.
void CompareOthers(Transaction& transaction, const LockedJobs& jobs, Batch& batch) {
  ArrayLiteral ids, indices;
  std::vector<size_t> others;
  for (size_t i = 0; i < batch.results.size(); ++i) {
    if (batch.outcomes[i].fresh) continue;
    others.push_back(i);
    ids.Add(batch.results[i]->result.job_id());
    indices.Add(int64_t{batch.results[i]->result.case_index()});
  }
  if (others.empty()) return;
  std::map<size_t, std::string> before;  // Hashes of stored results by position.
  for (const auto& row : transaction.exec_params(
           "SELECT i.position, encode(d.payload_hash, 'hex')"
           "FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS i(job_id, case_index, position)"
           "JOIN case_result d ON d.job_id = i.job_id AND d.case_index = i.case_index",
           ids.Finish(), indices.Finish())) {
    before[others[row[0].as<size_t>() - 1]] = row[1].as<std::string>();
  }
  for (const size_t i : others) {
    const SentResult& sent = *batch.results[i];
    const auto job = jobs.find(sent.result.job_id());
    const auto stored = before.find(i);
    // If the database was restored from a dump, it may not know the latest attempts.
    if (job == jobs.end() || sent.result.epoch() > job->second.epoch) {
      batch.outcomes[i].verdict = CommitVerdict::kUnknownJob;
    } else if (!Knows(job->second, sent.result)) {
      batch.outcomes[i].verdict = CommitVerdict::kConflict;
    } else if (stored != before.end() && stored->second == sent.hash) {
      batch.outcomes[i].verdict = CommitVerdict::kStored;
    } else {
      batch.outcomes[i].verdict =
          Holds(job->second, sent.result) ? CommitVerdict::kConflict : CommitVerdict::kStale;
    }
  }
}

// Returns the columns of `result` that InsertRows fills, in this order.
const std::vector<Column>& ResultColumns() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> all = {{"result_id", "uuid"},    {"series_key", "bigint"},
                               {"origin_key", "bigint"}, {"campaign_id", "text"},
                               {"job_id", "text"},       {"case_index", "int"},
                               {"repetition", "int"},    {"measurement", "bytea"}};
    for (const Column& field : FieldTypes(schema::StoredIn::kResult)) all.push_back(field);
    return all;
  }();
  return columns;
}

// Returns the SQL statement that stores metrics and samples, and adds the number of new cases to
// each job's cases_done. $1 contains the job ids and $2 their numbers of new cases. $3 to $5 are
// the columns of the table `sample`, and the remaining parameters are the columns of `result`.
const std::string& RowsSql() {
  static const std::string sql = [] {
    std::string names, values, parameters;
    int number = 6;
    for (const Column& column : ResultColumns()) {
      const std::string separator = names.empty() ? "" : ", ";
      names += separator + '"' + column.name + '"';
      values += separator + "v.\"" + column.name + '"' + column.cast;
      parameters += separator + "$" + std::to_string(number++) + "::" + column.type + "[]";
    }
    return "WITH counted AS ("
           "  UPDATE job SET revision = pg_current_xact_id()::text::bigint,"
           "    cases_done = cases_done + ($2::int[])[array_position($1::text[], job_id)]"
           "  WHERE job_id = ANY($1::text[])),"
           "stored AS ("
           "  INSERT INTO result (" +
           names + ") SELECT " + values + " FROM unnest(" + parameters + ") AS v(" + names +
           ")) "
           "INSERT INTO sample (result_id, n, data) "
           "SELECT * FROM unnest($3::uuid[], $4::int[], $5::bytea[])";
  }();
  return sql;
}

void InsertRows(Transaction& transaction, const LockedJobs& jobs, const Batch& batch) {
  std::map<std::string, int64_t> new_cases;
  for (size_t i = 0; i < batch.results.size(); ++i) {
    if (batch.outcomes[i].fresh) ++new_cases[batch.results[i]->result.job_id()];
  }
  ArrayLiteral ids, counts, sampled, sizes, samples;
  for (const auto& [id, count] : new_cases) {
    ids.Add(id);
    counts.Add(count);
  }
  std::vector<ArrayLiteral> columns(ResultColumns().size());
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (!batch.outcomes[batch.position_of_row[i]].fresh) continue;
    const ResultToStore& row = batch.rows[i];
    const v1::CaseResult& result = row.result.case_result();
    const LockedJob& job = jobs.at(result.job_id());
    const std::string result_id = NewUuid();
    auto column = columns.begin();
    (column++)->Add(result_id);
    (column++)->Add(row.series_key);
    (column++)->Add(row.origin_key);
    (column++)->Add(job.campaign_id);
    (column++)->Add(result.job_id());
    (column++)->Add(int64_t{result.case_index()});
    (column++)->Add(int64_t{job.repetition});
    AddMeasurement(result, *column++);
    AddFields(schema::StoredIn::kResult, row.result, &*column);
    if (result.measurements().empty() || result.measurements(0).samples().empty()) continue;
    sampled.Add(result_id);
    sizes.Add(int64_t{result.measurements(0).samples_size()});
    samples.AddBytes(CompressSamples(result.measurements(0).samples()));
  }
  std::vector<std::string> values = {ids.Finish(), counts.Finish(), sampled.Finish(),
                                     sizes.Finish(), samples.Finish()};
  for (const ArrayLiteral& column : columns) values.push_back(column.Finish());
  ExecPrepared(transaction, RowsSql(), values);
}

// Adds rows to a table, except those already in it. `rows` is sorted by id, so that transactions
// adding the same rows do not deadlock.
Status AddRows(Transaction& transaction, const std::string& table, const std::string& columns,
               const std::map<std::string, nlohmann::json>& rows) {
  nlohmann::json array = nlohmann::json::array();
  for (const auto& [id, row] : rows) array.push_back(row);
  ASSAY_ASSIGN_OR_RETURN(const std::string text, StorableJson(array));
  transaction.exec_params("INSERT INTO " + table + " (" + columns + ") SELECT " + columns +
                              " FROM json_populate_recordset(NULL::" + table +
                              ", $1) ON CONFLICT DO NOTHING",
                          text);
  return Status::Ok();
}

// Returns the keys of rows of `series` or `origin` by id.
std::map<std::string, int64_t> KeysOf(Transaction& transaction, const std::string& table,
                                      const std::map<std::string, nlohmann::json>& rows) {
  ArrayLiteral ids;
  for (const auto& [id, row] : rows) ids.Add(id);
  std::map<std::string, int64_t> keys;
  for (const auto& row :
       transaction.exec_params("SELECT " + table + "_id, " + table + "_key FROM " + table +
                                   " WHERE " + table + "_id = ANY($1::text[])",
                               ids.Finish())) {
    keys[row[0].as<std::string>()] = row[1].as<int64_t>();
  }
  return keys;
}

}  // namespace

Batch::Batch(std::vector<const SentResult*> the_results) : results(std::move(the_results)) {
  std::map<std::string, EnvironmentIdentity> environments;  // By content.
  for (size_t position = 0; position < results.size(); ++position) {
    const v1::Environment& own = results[position]->result.environment();
    const EnvironmentIdentity& environment =
        environments.try_emplace(DeterministicBytes(own), own).first->second;
    std::shared_ptr<const Origin> origin;
    for (v1::StoredResult& metric : schema::SplitByMetric(results[position]->result)) {
      if (!origin) origin = std::make_shared<const Origin>(OriginOf(metric));
      Identity identity = IdentityOf(metric.case_result(), environment);
      rows.push_back({std::move(metric), std::move(identity), 0, origin, 0});
      position_of_row.push_back(position);
    }
  }
}

Status ResolveKeys(Transaction& transaction, const std::vector<ResultToStore*>& rows) {
  std::map<std::string, nlohmann::json> environments, series, origins;
  // Create only one row per id, because many results of a batch have the same series and origin.
  for (const ResultToStore* row : rows) {
    const Identity& identity = row->identity;
    if (!environments.contains(identity.environment_id)) {
      environments[identity.environment_id] = EnvironmentRow(*row);
    }
    if (!series.contains(identity.series_id)) series[identity.series_id] = SeriesRow(*row);
    if (!origins.contains(row->origin->id)) origins[row->origin->id] = row->origin->row;
  }
  ASSAY_RETURN_IF_ERROR(AddRows(
      transaction, "environment",
      "environment_id, content, " + FieldColumns(schema::StoredIn::kEnvironment), environments));
  ASSAY_RETURN_IF_ERROR(AddRows(transaction, "series",
                                "series_id, lineage_id, environment_id, parameters, " +
                                    FieldColumns(schema::StoredIn::kSeries),
                                series));
  ASSAY_RETURN_IF_ERROR(AddRows(transaction, "origin",
                                "origin_id, " + FieldColumns(schema::StoredIn::kOrigin), origins));
  const std::map<std::string, int64_t> series_keys = KeysOf(transaction, "series", series);
  const std::map<std::string, int64_t> origin_keys = KeysOf(transaction, "origin", origins);
  for (ResultToStore* row : rows) {
    row->series_key = series_keys.at(row->identity.series_id);
    row->origin_key = origin_keys.at(row->origin->id);
  }
  return Status::Ok();
}

Status Insert(Transaction& transaction, Batch& batch) {
  batch.outcomes.assign(batch.results.size(), {});
  const LockedJobs jobs = LockJobs(transaction, batch);
  InsertCases(transaction, jobs, batch);
  CompareOthers(transaction, jobs, batch);
  std::vector<ResultToStore*> unresolved;
  bool fresh = false;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (!batch.outcomes[batch.position_of_row[i]].fresh) continue;
    fresh = true;
    if (batch.rows[i].series_key == 0) unresolved.push_back(&batch.rows[i]);
  }
  if (!fresh) return Status::Ok();
  if (!unresolved.empty()) ASSAY_RETURN_IF_ERROR(ResolveKeys(transaction, unresolved));
  InsertRows(transaction, jobs, batch);
  return Status::Ok();
}

}  // namespace assay::storage
