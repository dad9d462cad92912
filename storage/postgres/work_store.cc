#include "storage/work_store.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

// The numbers of results to read for one case: the newest kResultsOfSeries results from each of the
// kSeriesOfCase newest series, which are groups of comparable results.
constexpr int kSeriesOfCase = 4;
constexpr int kResultsOfSeries = 4;

// Selects the mean time of each case over its newest results. Finds the series of all cases in one
// pass, then reads the newest results of each series from the index result_of_series. All metrics
// of a case have the same start and end, so any metric's series gives the time of the case. $1 is a
// JSON list of cases, $2 the effort, $3 kSeriesOfCase and $4 kResultsOfSeries.
constexpr const char* kCaseSeconds =
    "WITH wanted AS (SELECT * FROM json_to_recordset($1)"
    "                AS w(number int, benchmark text, parameters jsonb)),"
    "ranked AS ("
    "  SELECT w.number, s.series_key,"
    "    row_number() OVER (PARTITION BY w.number ORDER BY s.series_key DESC) AS rank"
    "  FROM wanted w JOIN series s ON s.benchmark = w.benchmark AND s.parameters = w.parameters) "
    "SELECT number, avg(r.seconds) AS seconds"
    "  FROM (SELECT * FROM ranked WHERE rank <= $3) newest CROSS JOIN LATERAL ("
    "    SELECT extract(epoch FROM end_time - \"time\")::float8 AS seconds, effort FROM result"
    "    WHERE result.series_key = newest.series_key ORDER BY ts DESC LIMIT $4) r "
    "WHERE r.effort = $2 AND r.seconds > 0 GROUP BY number";

class PostgresWorkStore : public WorkStore {
 public:
  explicit PostgresWorkStore(Pool& queries) : queries_(queries) {}

  Result<std::vector<std::optional<double>>> CaseSeconds(const std::vector<CaseOfBenchmark>& cases,
                                                         const std::string& effort) override {
    nlohmann::json wanted = nlohmann::json::array();
    for (const CaseOfBenchmark& one : cases) {
      nlohmann::json parameters = nlohmann::json::object();
      for (const auto& [name, value] : one.one.parameters()) parameters[name] = value;
      wanted.push_back({{"number", wanted.size()},
                        {"benchmark", one.benchmark},
                        {"parameters", std::move(parameters)}});
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string text, StorableJson(wanted));
    ASSAY_ASSIGN_OR_RETURN(const pqxx::result rows,
                           queries_.Execute("case_seconds", kCaseSeconds, text, effort,
                                            kSeriesOfCase, kResultsOfSeries));
    std::vector<std::optional<double>> seconds(cases.size());
    for (const auto& row : rows) {
      seconds.at(row["number"].as<size_t>()) = row["seconds"].as<double>();
    }
    return seconds;
  }

  Result<std::vector<Work>> ListOpenWork(const std::string& campaign_id) override {
    return queries_.Query("list_open_work",
                          [&](Transaction& transaction) -> Result<std::vector<Work>> {
                            return OpenWork(transaction, campaign_id);
                          });
  }

  Result<std::vector<KindOfWork>> ListKindsOfWork(const std::string& campaign_id) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        queries_.Execute("list_kinds_of_work",
                         "SELECT DISTINCT ON (benchmark_index, world_size, node_count)"
                         "  benchmark_index, world_size, node_count, benchmark, cases FROM job "
                         "WHERE campaign_id = $1 AND benchmark_index IS NOT NULL "
                         "ORDER BY benchmark_index, world_size, node_count",
                         campaign_id));
    std::vector<KindOfWork> kinds;
    for (const auto& row : rows) {
      KindOfWork& kind = kinds.emplace_back();
      kind.kind = KindOf(row);
      kind.benchmark = row["benchmark"].as<std::string>();
      v1::JobSpec spec;
      spec.ParseFromString(BytesOf(row["cases"]));
      kind.cases.assign(spec.cases().begin(), spec.cases().end());
    }
    return kinds;
  }

 private:
  static Work::Kind KindOf(const pqxx::row& row) {
    return {row["benchmark_index"].as<int>(), row["world_size"].as<int>(),
            row["node_count"].as<int>()};
  }

  static std::vector<Work> OpenWork(Transaction& transaction, const std::string& campaign_id) {
    std::map<int, NodeIds> sets;
    for (const auto& row : transaction.exec_params(
             "SELECT candidate_set, node_ids FROM candidate_set WHERE campaign_id = $1",
             campaign_id)) {
      sets[row[0].as<int>()] = TextsOf(row[1]);
    }
    std::vector<Work> work;
    for (const auto& row : transaction.exec_params(
             "SELECT benchmark_index, world_size, node_count, gpu_indices, exclusive_node,"
             "  CASE state WHEN 'queued' THEN candidate_set END AS candidate_set,"
             "  CASE state WHEN 'queued' THEN candidate_node_ids ELSE node_ids END AS node_ids,"
             "  count(*) AS jobs, sum(case_count - cases_done) AS cases "
             "FROM job WHERE campaign_id = $1 AND state IN ('queued', 'running')"
             "  AND benchmark_index IS NOT NULL "
             "GROUP BY 1, 2, 3, 4, 5, 6, 7",
             campaign_id)) {
      Work& one = work.emplace_back();
      one.kind = KindOf(row);
      one.node_ids = row["candidate_set"].is_null() ? NodeIds(TextsOf(row["node_ids"]))
                                                    : sets[row["candidate_set"].as<int>()];
      one.gpu_indices = IntegersOf(row["gpu_indices"]);
      one.exclusive_node = row["exclusive_node"].as<bool>();
      one.jobs = row["jobs"].as<int>();
      one.cases = row["cases"].as<int64_t>();
    }
    return work;
  }

  Pool& queries_;
};

}  // namespace

std::unique_ptr<WorkStore> MakeWorkStore(Pool& queries) {
  return std::make_unique<PostgresWorkStore>(queries);
}

}  // namespace assay::storage
