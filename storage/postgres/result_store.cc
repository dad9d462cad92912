#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "common/log.h"
#include "common/uuid.h"
#include "model/page.h"
#include "storage/identity.h"
#include "storage/postgres/insert_campaign.h"
#include "storage/postgres/result_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

constexpr size_t kMaxCachedSeries = 200'000;

// Returns the SQL statement that checks and stores results. Its parameters are JSON arrays of
// CaseRow, ResultRow and SampleRow, in which no case may occur twice. Returns one row per case, in
// order, with the columns
//   stored  whether this statement has stored the result
//   exists  whether the job exists
//   held    whether the job is running with this epoch
//   known   whether the job has such a case
//   hash    hash of the result that was stored before, if any
const std::string& InsertSql() {
  static const std::string sql =
      "WITH input AS ("
      "  SELECT * FROM json_to_recordset($1) AS i(position int, job_id text, epoch bigint,"
      "    case_index int, payload_hash text, payload bytea)),"
      "locked AS ("
      "  SELECT job_id, epoch, state, campaign_id, repetition, case_count FROM job"
      "  WHERE job_id IN (SELECT job_id FROM input) ORDER BY job_id FOR NO KEY UPDATE),"
      "judged AS ("
      "  SELECT i.*, l.campaign_id, l.repetition,"
      "    l.state = 'running' AND l.epoch = i.epoch AS held,"
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
      "  INSERT INTO result (result_id, series_key, campaign_id, job_id, case_index, repetition,"
      "    measurement, " +
      FieldColumns(schema::StoredIn::kResult) +
      ") SELECT v.result_id, v.series_key, judged.campaign_id, v.job_id, v.case_index,"
      "    judged.repetition, v.measurement, " +
      FieldColumns(schema::StoredIn::kResult, "v.") +
      "  FROM json_populate_recordset(NULL::result, $2) WITH ORDINALITY AS v"
      "  JOIN fresh USING (job_id, case_index) JOIN judged USING (job_id, case_index)"
      "  ORDER BY v.ordinality RETURNING result_id),"
      "sampled AS ("
      "  INSERT INTO sample (result_id, n, data)"
      "  SELECT s.result_id, s.n, s.data FROM json_populate_recordset(NULL::sample, $3) s"
      "  JOIN stored USING (result_id)) "
      "SELECT fresh.job_id IS NOT NULL AS stored, judged.job_id IS NOT NULL AS exists,"
      "  coalesce(judged.held, false) AS held, coalesce(judged.known, false) AS known,"
      "  before.payload_hash AS hash "
      "FROM input i LEFT JOIN judged USING (position)"
      "  LEFT JOIN fresh ON fresh.job_id = i.job_id AND fresh.case_index = i.case_index"
      "  LEFT JOIN case_result before"
      "    ON before.job_id = i.job_id AND before.case_index = i.case_index "
      "ORDER BY i.position";
  return sql;
}

CommitOutcome OutcomeOf(const pqxx::row& row, const std::string& before, const std::string& hash) {
  if (row["stored"].as<bool>()) return {CommitVerdict::kStored, true};
  if (!row["exists"].as<bool>()) return {CommitVerdict::kStale, false};
  if (!row["known"].as<bool>()) return {CommitVerdict::kConflict, false};
  if (before == hash) return {CommitVerdict::kStored, false};
  return {row["held"].as<bool>() ? CommitVerdict::kConflict : CommitVerdict::kStale, false};
}

// Locks the jobs of these cases and returns the positions of the cases that can be stored: their
// job runs under their epoch, and they have no result.
std::set<size_t> LockStorable(Transaction& transaction, const std::string& case_rows) {
  // The rows are checked by a second statement, whose snapshot is younger than the locks.
  transaction.exec_params(
      "SELECT FROM job WHERE job_id IN"
      "  (SELECT job_id FROM json_to_recordset($1) AS i(job_id text))"
      "ORDER BY job_id FOR NO KEY UPDATE",
      case_rows);
  std::set<size_t> positions;
  for (const auto& row : transaction.exec_params(
           "SELECT i.position FROM json_to_recordset($1)"
           "  AS i(position int, job_id text, epoch bigint, case_index int)"
           "JOIN job ON job.job_id = i.job_id AND job.epoch = i.epoch AND job.state = 'running'"
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
      "SELECT payload_hash FROM case_result WHERE job_id = $1 AND case_index = $2", result.job_id(),
      result.case_index());
  return rows.empty() ? "" : rows[0][0].as<std::string>();
}

// Stores the rows' series and environments if they are new, and sets the rows' series_key.
Status ResolveKeys(Transaction& transaction, const std::vector<ResultToStore*>& rows) {
  nlohmann::json environments, series, ids;
  for (const ResultToStore* row : rows) {
    environments.push_back(EnvironmentRow(*row));
    series.push_back(SeriesRow(*row));
    ids.push_back(row->identity.series_id);
  }
  const std::string environment_columns =
      "environment_id, content, " + FieldColumns(schema::StoredIn::kEnvironment);
  const std::string series_columns = "series_id, lineage_id, environment_id, parameters, " +
                                     FieldColumns(schema::StoredIn::kSeries);
  ASSAY_ASSIGN_OR_RETURN(const std::string environment_rows, StorableJson(environments));
  ASSAY_ASSIGN_OR_RETURN(const std::string series_rows, StorableJson(series));
  transaction.exec_params("INSERT INTO environment (" + environment_columns +
                              ") SELECT DISTINCT ON (environment_id) " + environment_columns +
                              " FROM json_populate_recordset(NULL::environment, $1) "
                              "ORDER BY environment_id ON CONFLICT DO NOTHING",
                          environment_rows);
  transaction.exec_params("INSERT INTO series (" + series_columns +
                              ") SELECT DISTINCT ON (series_id) " + series_columns +
                              " FROM json_populate_recordset(NULL::series, $1) "
                              "ORDER BY series_id ON CONFLICT DO NOTHING",
                          series_rows);
  std::unordered_map<std::string, int64_t> keys;
  for (const auto& row :
       transaction.exec_params("SELECT series_id, series_key FROM series "
                               "WHERE series_id IN (SELECT json_array_elements_text($1))",
                               ids.dump())) {
    keys[row[0].as<std::string>()] = row[1].as<int64_t>();
  }
  for (ResultToStore* row : rows) row->series_key = keys.at(row->identity.series_id);
  return Status::Ok();
}

// Ends the jobs and the campaign that the transaction of an import has created.
void EndImported(Transaction& transaction, const ImportedCampaign& imported) {
  bool passed = true;
  for (const NewJob& job : imported.campaign.jobs) {
    const std::optional<v1::Failure> failure = FailureOf(imported, job);
    passed = passed && !failure;
    transaction.exec_params(
        "UPDATE job SET state = $2, failure = NULLIF($3, '')::bytea, end_time = now() "
        "WHERE job_id = $1",
        job.job_id, failure ? "failed" : "succeeded",
        failure ? HexLiteral(DeterministicBytes(*failure)) : "");
  }
  transaction.exec_params(
      "UPDATE campaign SET state = 'completed', verdict = $2, end_time = now() "
      "WHERE campaign_id = $1",
      imported.campaign.campaign_id, passed ? "passed" : "failed");
}

// Results to be stored, one per case, and their rows, one per metric.
struct Batch {
  std::vector<const SentResult*> results;
  std::vector<ResultToStore> rows;
  std::vector<size_t> position_of_row;  // The row's result in `results`.
  std::vector<CommitOutcome> outcomes;

  explicit Batch(std::vector<const SentResult*> the_results) : results(std::move(the_results)) {
    for (size_t position = 0; position < results.size(); ++position) {
      for (v1::StoredResult& metric : schema::SplitByMetric(results[position]->result)) {
        Identity identity = IdentityOf(metric.case_result());
        rows.push_back({std::move(metric), std::move(identity), 0});
        position_of_row.push_back(position);
      }
    }
  }

  Result<std::string> CaseRows() const {
    nlohmann::json cases;
    for (const SentResult* sent : results) {
      cases.push_back(CaseRow(sent->result, sent->hash, cases.size()));
    }
    return StorableJson(cases);
  }
};

// Stores the batch and sets its outcomes. Rows without series_key belong to results that cannot be
// stored.
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

using Outcomes = Result<std::vector<CommitOutcome>>;

class PostgresResultStore : public ResultStore {
 public:
  explicit PostgresResultStore(Pool& pool) : pool_(pool) {}

  Outcomes Commit(const std::vector<SentResult>& results) override {
    // Several results for one case go into consecutive batches.
    std::vector<CommitOutcome> outcomes(results.size());
    std::vector<size_t> left(results.size());
    std::iota(left.begin(), left.end(), 0);
    while (!left.empty()) {
      std::set<std::pair<std::string, int>> cases;
      std::vector<size_t> now, later;
      for (size_t i : left) {
        const v1::CaseResult& result = results[i].result;
        const bool first = cases.emplace(result.job_id(), result.case_index()).second;
        (first ? now : later).push_back(i);
      }
      std::vector<const SentResult*> batch;
      for (size_t i : now) batch.push_back(&results[i]);
      ASSAY_ASSIGN_OR_RETURN(const std::vector<CommitOutcome> stored, CommitBatch(batch));
      for (size_t k = 0; k < now.size(); ++k) outcomes[now[k]] = stored[k];
      left = std::move(later);
    }
    return outcomes;
  }

  Outcomes Compare(const std::vector<v1::CaseResult>& results) override {
    ArrayLiteral jobs, indices, hashes;
    for (const v1::CaseResult& result : results) {
      jobs.Add(result.job_id());
      indices.Add(int64_t{result.case_index()});
      hashes.Add(PayloadHash(result));
    }
    return pool_.Query("compare_results", [&](Transaction& transaction) -> Outcomes {
      std::vector<CommitOutcome> outcomes(results.size());
      for (const auto& row : transaction.exec_params(
               "SELECT i.position FROM unnest($1::text[], $2::int[], $3::text[])"
               "  WITH ORDINALITY AS i(job_id, case_index, payload_hash, position)"
               "JOIN case_result USING (job_id, case_index, payload_hash)",
               jobs.Finish(), indices.Finish(), hashes.Finish())) {
        outcomes[row[0].as<size_t>() - 1].verdict = CommitVerdict::kStored;
      }
      return outcomes;
    });
  }

  Result<ImportOutcome> Import(const ImportedCampaign& imported) override {
    ASSAY_RETURN_IF_ERROR(CheckImport(imported));
    std::vector<SentResult> sent;
    for (const v1::CaseResult& result : imported.results) {
      sent.push_back({result, PayloadHash(result)});
    }
    std::vector<const SentResult*> results;
    for (const SentResult& one : sent) results.push_back(&one);
    Batch batch(std::move(results));
    ImportOutcome outcome;
    const auto store = [&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN_OR_RETURN(outcome.campaign_id, InsertCampaign(transaction, imported.campaign));
      outcome.fresh = outcome.campaign_id == imported.campaign.campaign_id;
      if (!outcome.fresh) return Status::Ok();
      // Mark the imported jobs as running, because Insert accepts results only for running jobs.
      // Nobody else sees this state, because this transaction also ends the jobs.
      transaction.exec_params(
          "UPDATE job SET state = 'running', epoch = 1, attempts = 1, start_time = now() "
          "WHERE campaign_id = $1",
          outcome.campaign_id);
      // Does not add these keys to series_keys_, because this transaction may be rolled back.
      std::vector<ResultToStore*> rows;
      for (ResultToStore& row : batch.rows) rows.push_back(&row);
      ASSAY_RETURN_IF_ERROR(ResolveKeys(transaction, rows));
      ASSAY_RETURN_IF_ERROR(Insert(transaction, batch));
      for (const CommitOutcome& stored : batch.outcomes) {
        if (!stored.fresh) return Internal("an imported result was not stored");
      }
      EndImported(transaction, imported);
      return Status::Ok();
    };
    ASSAY_RETURN_IF_ERROR(WithPartitions([&] { return pool_.Run("import_results", store); }));
    return outcome;
  }

  Result<Page<v1::StoredResult>> List(const std::string& filter_text,
                                      const PageRequest& request) override {
    ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(filter_text));
    ASSAY_ASSIGN_OR_RETURN(const SqlCondition condition, FilterToSql(filter));
    ASSAY_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken('r', request.token, INT64_MAX));
    return pool_.Query(
        "list_results", [&](Transaction& transaction) -> Result<Page<v1::StoredResult>> {
          PageFiller<v1::StoredResult> filler('r', request);
          for (const auto& row :
               transaction.exec_params("SELECT " + StoredColumns() + StoredTables() +
                                           "WHERE v.sequence < $2 AND $1::text[] IS NOT NULL AND " +
                                           condition.text + " ORDER BY v.sequence DESC LIMIT $3",
                                       ArrayOf(condition.values), before, PageSize(request) + 1)) {
            if (!filler.Add(StoredResultOf(row), row["sequence"].as<int64_t>())) break;
          }
          return std::move(filler).Take();
        });
  }

  Result<v1::StoredResult> Get(const std::string& result_id) override {
    Status missing = NotFound("no result \"" + result_id + "\"");
    if (!IsUuid(result_id)) return missing;
    return pool_.Query("get_result", [&](Transaction& transaction) -> Result<v1::StoredResult> {
      const pqxx::result rows = transaction.exec_params(
          "SELECT " + StoredColumns() + ", p.n AS sample_count, p.data AS sample_data " +
              StoredTables() + "LEFT JOIN sample p USING (result_id) WHERE v.result_id = $1::uuid",
          result_id);
      if (rows.empty()) return missing;
      v1::StoredResult result = StoredResultOf(rows[0]);
      if (rows[0]["sample_data"].is_null()) return result;
      ASSAY_RETURN_IF_ERROR(DecompressSamples(
          BytesOf(rows[0]["sample_data"]), rows[0]["sample_count"].as<int>(),
          result.mutable_case_result()->mutable_measurements(0)->mutable_samples()));
      return result;
    });
  }

  Result<std::vector<v1::CaseResult>> ListOfJob(const std::string& job_id) override {
    using Cases = std::vector<v1::CaseResult>;
    return pool_.Query("list_job_results", [&](Transaction& transaction) -> Result<Cases> {
      Cases cases;
      for (const auto& row : transaction.exec_params(
               "SELECT payload FROM case_result WHERE job_id = $1 ORDER BY case_index", job_id)) {
        cases.emplace_back().ParseFromString(BytesOf(row[0]));
      }
      return cases;
    });
  }

  Result<std::vector<v1::StoredResult>> ListOfCampaign(const std::string& campaign_id) override {
    using Results = std::vector<v1::StoredResult>;
    return pool_.Query("list_campaign_results", [&](Transaction& transaction) -> Result<Results> {
      Results results;
      for (const auto& row :
           transaction.exec_params("SELECT " + StoredColumns() + StoredTables() +
                                       "WHERE v.campaign_id = $1 ORDER BY v.sequence",
                                   campaign_id)) {
        results.push_back(StoredResultOf(row));
      }
      return results;
    });
  }

 private:
  // Stores results that all belong to different cases.
  Outcomes CommitBatch(const std::vector<const SentResult*>& results) {
    Batch batch(results);
    const bool known = KnowsAllSeries(batch);
    const Status status = WithPartitions([&] {
      return known ? pool_.RunStatement(
                         "insert_results",
                         [&](Transaction& transaction) { return Insert(transaction, batch); })
                   : pool_.Run("insert_series", [&](Transaction& transaction) {
                       return InsertWithSeries(transaction, batch);
                     });
    });
    if (status.ok() && !known) Remember(batch);
    if (status.ok()) return std::move(batch.outcomes);
    if (status.code() != Code::kInvalidArgument) return status;
    if (results.size() == 1) {
      const v1::CaseResult& refused = results[0]->result;
      Log().warn("refused case {} of job {}: {}", refused.case_index(), refused.job_id(),
                 status.message());
      return std::vector<CommitOutcome>{{CommitVerdict::kConflict, false}};
    }
    std::vector<CommitOutcome> outcomes;
    for (const SentResult* sent : results) {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<CommitOutcome> one, CommitBatch({sent}));
      outcomes.push_back(one[0]);
    }
    return outcomes;
  }

  // Sets the keys of the rows whose series are known. Returns true if all are.
  bool KnowsAllSeries(Batch& batch) {
    MutexLock lock(mutex_);
    bool all = true;
    for (ResultToStore& row : batch.rows) {
      const auto it = series_keys_.find(row.identity.series_id);
      if (it != series_keys_.end()) row.series_key = it->second;
      all = all && it != series_keys_.end();
    }
    return all;
  }

  // Stores the batch, with the series and environments of those results that can be stored.
  static Status InsertWithSeries(Transaction& transaction, Batch& batch) {
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

  void Remember(const Batch& batch) {
    MutexLock lock(mutex_);
    if (series_keys_.size() > kMaxCachedSeries) series_keys_.clear();
    for (const ResultToStore& row : batch.rows) {
      if (row.series_key != 0) series_keys_[row.identity.series_id] = row.series_key;
    }
  }

  // Calls `store`, and again after creating the partitions of the next months if one is missing.
  Status WithPartitions(const std::function<Status()>& store) {
    Status status = store();
    if (status.reason() != Reason::kNoPartition) return status;
    ASSAY_RETURN_IF_ERROR(
        pool_.Execute("create_partitions", "SELECT assay_create_partitions(3)").status());
    return store();
  }

  Pool& pool_;
  Mutex mutex_;
  // Keys of series by id. Cleared once it has more than kMaxCachedSeries entries.
  std::unordered_map<std::string, int64_t> series_keys_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ResultStore> MakeResultStore(Pool& pool) {
  return std::make_unique<PostgresResultStore>(pool);
}

}  // namespace assay::storage
