// Results and their series as arrays of columns, for statements that take many
// rows at once; and stored rows as messages.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "storage/identity.h"
#include "storage/postgres/pqxx.h"
#include "storage/postgres/sql.h"
#include "storage/types.h"

namespace assay::storage {

// One metric of one case on its way in. `result` holds that one measurement, or
// none; it is owned by the batch.
struct ResultToStore {
  const v1::CaseResult* result = nullptr;
  Identity identity;
  int64_t series_key = 0;
  bool primary = false;
};

// Columns of one element a case.
struct CaseColumns {
  ArrayLiteral job_ids, epochs, case_indices, hashes, payloads;
  void Add(const v1::CaseResult& result);
};

// Columns of one element a metric of a case, and of one a metric with samples.
struct ResultColumns {
  ArrayLiteral job_ids, case_indices, result_ids, series_keys, primary, outcomes, gpu_ids;
  ArrayLiteral measurements, counts, medians, mads, p05s, p95s, ci_lows, ci_highs;
  ArrayLiteral efficiencies, prices, start_times, end_times, node_ids, node_names, gpu_uuids;
  ArrayLiteral providers, regions, kernels, agent_versions, flags, regimes, failure_reasons,
      origins, stop_reasons, link_models;
  ArrayLiteral sample_result_ids, sample_counts, sample_data;

  void Add(const ResultToStore& row);

 private:
  void AddMeasurement(const v1::CaseResult& result, const std::string& result_id);
  void AddOrigin(const v1::CaseResult& result);
};

// Makes series (and their environments) known, or leaves them if they are.
void InsertSeries(pqxx::transaction_base& transaction,
                  const std::vector<const ResultToStore*>& rows);

// "SELECT " + StoredColumns() + StoredTables() for StoredResultOf.
std::string StoredColumns();
std::string StoredTables();
v1::StoredResult StoredResultOf(const pqxx::row& row);

}  // namespace assay::storage
