#include "storage/postgres/insert_results.h"

#include <map>
#include <set>
#include <utility>

#include "common/uuid.h"
#include "storage/identity.h"
#include "storage/postgres/sql.h"
#include "storage/store_rules.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

// Returns an SQL condition: whether `job`, the alias of a row, takes results of its latest attempt.
// They may be late: the attempt has failed or was given up, and no newer one has begun.
std::string TakesResults(const std::string& job) {
  return "(" + job + ".state IN ('running', 'queued', 'failed') AND " + job + ".epoch > 0)";
}

// Returns the SQL statement that checks and stores results. Its parameters are JSON arrays of
// CaseRow, ResultRow and SampleRow, in which no case may occur twice. Returns one row per case, in
// order, with the columns
//   stored  whether this statement has stored the result
//   exists  whether the job exists, and this attempt of it: after a restore the database may not
//           know the latest ones
//   held    whether this epoch is the latest, and the job has not ended without need of the result
//   known   whether the job has such a case
//   hash    hash of the result that was stored before, if any
const std::string& InsertSql() {
  static const std::string sql =
      "WITH input AS ("
      "  SELECT * FROM json_to_recordset($1) AS i(position int, job_id text, epoch bigint,"
      "    case_index int, payload_hash bytea, payload bytea)),"
      "locked AS ("
      "  SELECT job_id, epoch, state, campaign_id, repetition, case_count FROM job"
      "  WHERE job_id IN (SELECT job_id FROM input) ORDER BY job_id FOR NO KEY UPDATE),"
      "judged AS ("
      "  SELECT i.*, l.campaign_id, l.repetition, l.epoch AS latest,"
      "    " +
      TakesResults("l") +
      " AND l.epoch = i.epoch AS held,"
      "    i.case_index >= 0 AND i.case_index < l.case_count AS known"
      "  FROM input i JOIN locked l USING (job_id)),"
      "fresh AS ("
      "  INSERT INTO case_result (job_id, case_index, epoch, payload_hash, payload)"
      "  SELECT job_id, case_index, epoch, payload_hash, payload FROM judged WHERE held AND known"
      "  ORDER BY job_id, case_index ON CONFLICT DO NOTHING RETURNING job_id, case_index),"
      "counted AS ("
      "  UPDATE job SET cases_done = cases_done + f.n,"
      "    revision = pg_current_xact_id()::text::bigint"
      "  FROM (SELECT job_id, count(*)::int AS n FROM fresh GROUP BY job_id) f"
      "  WHERE job.job_id = f.job_id),"
      "stored AS ("
      "  INSERT INTO result (result_id, series_key, origin_key, campaign_id, job_id, case_index, "
      "repetition,"
      "    measurement, " +
      FieldColumns(schema::StoredIn::kResult) +
      ") SELECT v.result_id, v.series_key, v.origin_key, judged.campaign_id, v.job_id,"
      "    v.case_index,"
      "    judged.repetition, v.measurement, " +
      FieldColumns(schema::StoredIn::kResult, "v.") +
      "  FROM json_populate_recordset(NULL::result, $2) WITH ORDINALITY AS v"
      "  JOIN fresh USING (job_id, case_index) JOIN judged USING (job_id, case_index)"
      "  ORDER BY v.ordinality RETURNING result_id),"
      "sampled AS ("
      "  INSERT INTO sample (result_id, n, data)"
      "  SELECT s.result_id, s.n, s.data FROM json_populate_recordset(NULL::sample, $3) s"
      "  JOIN stored USING (result_id)) "
      "SELECT fresh.job_id IS NOT NULL AS stored,"
      "  judged.job_id IS NOT NULL AND judged.epoch <= judged.latest AS exists,"
      "  coalesce(judged.held, false) AS held, coalesce(judged.known, false) AS known,"
      "  encode(before.payload_hash, 'hex') AS hash "
      "FROM input i LEFT JOIN judged USING (position)"
      "  LEFT JOIN fresh ON fresh.job_id = i.job_id AND fresh.case_index = i.case_index"
      "  LEFT JOIN case_result before"
      "    ON before.job_id = i.job_id AND before.case_index = i.case_index "
      "ORDER BY i.position";
  return sql;
}

CommitOutcome OutcomeOf(const pqxx::row& row, const std::string& before, const std::string& hash) {
  if (row["stored"].as<bool>()) return {CommitVerdict::kStored, true};
  if (!row["exists"].as<bool>()) return {CommitVerdict::kUnknownJob, false};
  if (!row["known"].as<bool>()) return {CommitVerdict::kConflict, false};
  if (before == hash) return {CommitVerdict::kStored, false};
  return {row["held"].as<bool>() ? CommitVerdict::kConflict : CommitVerdict::kStale, false};
}

// Locks the jobs of these cases and returns the positions of the cases that can be stored: their
// job takes results of their epoch, and they have no result.
std::set<size_t> LockStorable(Transaction& transaction, const std::string& case_rows) {
  // The rows are checked by a second statement, whose snapshot is younger than the locks.
  transaction.exec_params(
      "SELECT FROM job WHERE job_id IN"
      "  (SELECT job_id FROM json_to_recordset($1) AS i(job_id text))"
      "ORDER BY job_id FOR NO KEY UPDATE",
      case_rows);
  std::set<size_t> positions;
  for (const auto& row :
       transaction.exec_params("SELECT i.position FROM json_to_recordset($1)"
                               "  AS i(position int, job_id text, epoch bigint, case_index int)"
                               "JOIN job ON job.job_id = i.job_id AND job.epoch = i.epoch AND " +
                                   TakesResults("job") +
                                   "  AND i.case_index >= 0 AND i.case_index < job.case_count "
                                   "WHERE NOT EXISTS (SELECT FROM case_result d"
                                   "  WHERE d.job_id = i.job_id AND d.case_index = i.case_index)",
                               case_rows)) {
    positions.insert(row[0].as<size_t>());
  }
  return positions;
}

// Returns the hash of the result that another transaction stored for the same case while InsertSql
// was waiting for it. InsertSql cannot see that result, because its snapshot is older.
std::string StoredHash(Transaction& transaction, const v1::CaseResult& result) {
  const pqxx::result rows = transaction.exec_params(
      "SELECT encode(payload_hash, 'hex') FROM case_result WHERE job_id = $1 AND case_index = $2",
      result.job_id(), result.case_index());
  return rows.empty() ? "" : rows[0][0].as<std::string>();
}

// Adds rows to a table, except those that it has. `rows` are sorted by id, so that transactions
// that add the same rows do not deadlock.
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
  for (size_t position = 0; position < results.size(); ++position) {
    std::shared_ptr<const Origin> origin;
    for (v1::StoredResult& metric : schema::SplitByMetric(results[position]->result)) {
      if (!origin) origin = std::make_shared<const Origin>(OriginOf(metric));
      Identity identity = IdentityOf(metric.case_result());
      rows.push_back({std::move(metric), std::move(identity), 0, origin, 0});
      position_of_row.push_back(position);
    }
  }
}

Result<std::string> Batch::CaseRows() const {
  nlohmann::json cases;
  for (const SentResult* sent : results) {
    cases.push_back(CaseRow(sent->result, sent->hash, cases.size()));
  }
  return StorableJson(cases);
}

Status ResolveKeys(Transaction& transaction, const std::vector<ResultToStore*>& rows) {
  std::map<std::string, nlohmann::json> environments, series, origins;
  // Makes a row only for the first of equal ids: a batch has few series and origins.
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
  nlohmann::json results = nlohmann::json::array();
  nlohmann::json samples = nlohmann::json::array();
  for (const ResultToStore& row : batch.rows) {
    if (row.series_key == 0) continue;
    const std::string result_id = NewUuid();
    results.push_back(ResultRow(row, result_id));
    nlohmann::json sample = SampleRow(row, result_id);
    if (!sample.is_null()) samples.push_back(std::move(sample));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string case_rows, batch.CaseRows());
  ASSAY_ASSIGN_OR_RETURN(const std::string result_rows, StorableJson(results));
  const pqxx::result stored =
      transaction.exec_params(InsertSql(), case_rows, result_rows, samples.dump());
  batch.outcomes.clear();
  for (size_t i = 0; i < batch.results.size(); ++i) {
    const pqxx::row row = stored[static_cast<pqxx::result::size_type>(i)];
    const SentResult& sent = *batch.results[i];
    const std::string before = row["hash"].is_null() && row["known"].as<bool>()
                                   ? StoredHash(transaction, sent.result)
                                   : row["hash"].as<std::string>("");
    batch.outcomes.push_back(OutcomeOf(row, before, sent.hash));
  }
  return Status::Ok();
}

Status InsertWithSeries(Transaction& transaction, Batch& batch) {
  ASSAY_ASSIGN_OR_RETURN(const std::string case_rows, batch.CaseRows());
  const std::set<size_t> storable = LockStorable(transaction, case_rows);
  std::vector<ResultToStore*> rows;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    batch.rows[i].series_key = 0;
    if (storable.contains(batch.position_of_row[i])) rows.push_back(&batch.rows[i]);
  }
  if (!rows.empty()) ASSAY_RETURN_IF_ERROR(ResolveKeys(transaction, rows));
  return Insert(transaction, batch);
}

}  // namespace assay::storage
