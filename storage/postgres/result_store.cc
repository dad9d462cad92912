#include "storage/result_store.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "common/log.h"
#include "common/uuid.h"
#include "storage/postgres/insert_campaign.h"
#include "storage/postgres/insert_results.h"
#include "storage/postgres/result_query.h"
#include "storage/postgres/result_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"

namespace assay::storage {
namespace {

constexpr size_t kMaxCachedKeys = 200'000;

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

using Outcomes = Result<std::vector<CommitOutcome>>;

class PostgresResultStore : public ResultStore {
 public:
  PostgresResultStore(Pool& pool, Pool& queries) : pool_(pool), queries_(queries) {}

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
    ArrayLiteral jobs, indices, hashes, epochs;
    for (const v1::CaseResult& result : results) {
      epochs.Add(int64_t{result.epoch()});
      jobs.Add(result.job_id());
      indices.Add(int64_t{result.case_index()});
      hashes.Add(PayloadHash(result));
    }
    return pool_.Query("compare_results", [&](Transaction& transaction) -> Outcomes {
      std::vector<CommitOutcome> outcomes;
      for (const auto& row : transaction.exec_params(
               "SELECT d.job_id IS NOT NULL AS stored, j.job_id IS NOT NULL AS known "
               "FROM unnest($1::text[], $2::int[], $3::text[], $4::bigint[])"
               "  WITH ORDINALITY AS i(job_id, case_index, payload_hash, epoch, position)"
               "LEFT JOIN case_result d ON d.job_id = i.job_id"
               "  AND d.case_index = i.case_index AND d.payload_hash = decode(i.payload_hash, "
               "'hex')"
               "LEFT JOIN job j ON j.job_id = i.job_id AND j.epoch >= i.epoch ORDER BY i.position",
               jobs.Finish(), indices.Finish(), hashes.Finish(), epochs.Finish())) {
        outcomes.push_back({row["stored"].as<bool>()  ? CommitVerdict::kStored
                            : row["known"].as<bool>() ? CommitVerdict::kStale
                                                      : CommitVerdict::kUnknownJob,
                            false});
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
      // Start the first attempt of the imported jobs, because Insert accepts only results of an
      // attempt that has started. Other transactions never see this state, because this one also
      // ends the jobs.
      transaction.exec_params(
          "UPDATE job SET state = 'running', epoch = 1, attempts = 1, start_time = now() "
          "WHERE campaign_id = $1",
          outcome.campaign_id);
      SetKnownKeys(batch);
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

  using ResultStore::List;
  Result<ResultPage> List(const std::string& filter, const PageRequest& page,
                          const std::string& order) override {
    return ListResults(queries_, filter, page, order);
  }

  Result<v1::GroupResultsResponse> Group(const v1::GroupResultsRequest& request) override {
    return GroupResults(queries_, request);
  }

  Result<FieldValues> ListValues(const std::string& field, int limit, bool simulated) override {
    return storage::ListValues(queries_, field, limit, simulated);
  }

  Result<v1::StoredResult> Get(const std::string& result_id) override {
    Status missing = NotFound("no result \"" + result_id + "\"");
    if (!IsUuid(result_id)) return missing;
    return queries_.Query("get_result", [&](Transaction& transaction) -> Result<v1::StoredResult> {
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
    const Status status = WithPartitions([&] {
      return pool_.Run("insert_results", [&](Transaction& transaction) {
        SetKnownKeys(batch);
        return Insert(transaction, batch);
      });
    });
    if (status.ok()) {
      Remember(batch);
      return std::move(batch.outcomes);
    }
    if (status.code() == Code::kUnavailable) return status;
    // The database rejected at least one result of the batch. Store the results one at a time, so
    // that all others are stored.
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

  // Sets the keys of the rows whose series and origin are known, and clears those of all others.
  void SetKnownKeys(Batch& batch) {
    MutexLock lock(mutex_);
    for (ResultToStore& row : batch.rows) {
      const auto series = series_keys_.find(row.identity.series_id);
      const auto origin = origin_keys_.find(row.origin->id);
      const bool known = series != series_keys_.end() && origin != origin_keys_.end();
      row.series_key = known ? series->second : 0;
      row.origin_key = known ? origin->second : 0;
    }
  }

  void Remember(const Batch& batch) {
    MutexLock lock(mutex_);
    if (series_keys_.size() > kMaxCachedKeys) series_keys_.clear();
    if (origin_keys_.size() > kMaxCachedKeys) origin_keys_.clear();
    for (const ResultToStore& row : batch.rows) {
      if (row.series_key == 0) continue;
      series_keys_[row.identity.series_id] = row.series_key;
      origin_keys_[row.origin->id] = row.origin_key;
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
  Pool& queries_;
  Mutex mutex_;
  // Keys of series and origins by id. Cleared once they have more than kMaxCachedKeys entries.
  std::unordered_map<std::string, int64_t> series_keys_ ASSAY_GUARDED_BY(mutex_);
  std::unordered_map<std::string, int64_t> origin_keys_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ResultStore> MakeResultStore(Pool& pool, Pool& queries) {
  return std::make_unique<PostgresResultStore>(pool, queries);
}

}  // namespace assay::storage
