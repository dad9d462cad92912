#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "model/page.h"
#include "storage/analysis_rules.h"
#include "storage/postgres/analysis_queries.h"
#include "storage/postgres/result_query.h"
#include "storage/postgres/result_scan.h"
#include "storage/postgres/sql.h"
#include "storage/result_store.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

// The maximum age of a cursor for which ListChangedLineages reads all results since the cursor.
// There may be too many results since an older cursor, so ListChangedLineages then looks for just
// one of them in each series (group of comparable results).
constexpr int64_t kMaxReadMicroseconds = 24LL * 3600 * 1'000'000;
constexpr char kCursorKind = 'l';

// The columns of RunsBuilder::Add, of result "r".
const std::string& RunColumns() {
  static const std::string columns = [] {
    const std::vector<std::string> flags(std::begin(kExcludingFlags), std::end(kExcludingFlags));
    std::string list;
    for (const std::string& flag : flags) list += (list.empty() ? "'" : ", '") + flag + "'";
    return "r.series_key, r.origin_key, " + Microseconds("coalesce(r.end_time, 'epoch')") +
           " AS ended, r.median,"
           " CASE WHEN r.median <> 0 THEN (r.ci_high - r.ci_low) / 2 / abs(r.median) END AS "
           "uncertainty,"
           " coalesce(r.flag && ARRAY[" +
           list +
           "], false) AS excluded, r.result_id, r.outcome IS NOT DISTINCT FROM 'ok' AS ok,"
           " r.flag, r.efficiency_spec";
  }();
  return columns;
}

// Converts a field to a number. Much faster than pqxx's conversion, which matters because there may
// be 200,000 runs.
template <typename T>
T NumberOf(const pqxx::field& field) {
  T number{};
  std::from_chars(field.c_str(), field.c_str() + field.size(), number);
  return number;
}

// PostgreSQL's text of a boolean.
bool IsTrue(const pqxx::field& field) { return *field.c_str() == 't'; }

std::string TextOr(const pqxx::field& field) { return field.as<std::string>(""); }

v1::Environment EnvironmentOf(const pqxx::row& row) {
  v1::Environment environment;
  environment.set_gpu_model(TextOr(row["gpu_model"]));
  environment.set_gpu_form_factor(TextOr(row["gpu_form_factor"]));
  environment.set_mig_profile(TextOr(row["gpu_mig_profile"]));
  environment.set_gpu_count(row["gpu_count"].as<int>());
  environment.set_topology(TextOr(row["topology"]));
  environment.set_cpu_model(TextOr(row["cpu_model"]));
  const auto set = [&](const char* column, auto setter) {
    if (!row[column].is_null()) setter(row[column].as<std::string>());
  };
  v1::SoftwareVersions& software = *environment.mutable_software();
  set("driver", [&](const std::string& text) { environment.set_driver_version(text); });
  set("cuda", [&](const std::string& text) { software.set_cuda_runtime(text); });
  set("cublas", [&](const std::string& text) { software.set_cublas(text); });
  set("nccl", [&](const std::string& text) { software.set_nccl(text); });
  set("blas", [&](const std::string& text) { software.set_blas(text); });
  // Fields without columns; see EnvironmentIdentity.
  const auto content = nlohmann::json::parse(row["content"].c_str(), nullptr, false);
  if (!content.is_object()) return environment;
  environment.set_node_count(content.value("node_count", 0));
  if (content.contains("power_limit_watts")) {
    environment.set_power_limit_watts(content.value("power_limit_watts", 0.0));
  }
  if (content.contains("ecc_enabled")) {
    environment.set_ecc_enabled(content.value("ecc_enabled", false));
  }
  if (content.contains("clocks_locked")) {
    environment.set_clocks_locked(content.value("clocks_locked", false));
  }
  const auto nccl = content.value("nccl", nlohmann::json::object());
  for (const auto& [name, value] : nccl.items()) {
    if (value.is_string()) (*environment.mutable_nccl())[name] = value.get<std::string>();
  }
  return environment;
}

v1::Direction DirectionOf(const std::string& word) {
  if (word == "lower") return v1::DIRECTION_LOWER_IS_BETTER;
  return word == "higher" ? v1::DIRECTION_HIGHER_IS_BETTER : v1::DIRECTION_UNSPECIFIED;
}

RunSeries SeriesOf(const pqxx::row& row) {
  RunSeries series;
  series.environment = EnvironmentOf(row);
  v1::CaseIdentity& identity = series.identity;
  identity.set_benchmark(TextOr(row["benchmark"]));
  identity.set_benchmark_version(row["benchmark_version"].as<int>());
  const auto parameters = nlohmann::json::parse(row["parameters"].c_str(), nullptr, false);
  for (const auto& [name, value] : parameters.items()) {
    if (value.is_string()) (*identity.mutable_parameters())[name] = value.get<std::string>();
  }
  identity.set_metric(TextOr(row["metric"]));
  identity.set_unit(TextOr(row["unit"]));
  identity.set_direction(DirectionOf(TextOr(row["direction"])));
  identity.set_cache(TextOr(row["cache"]));
  identity.set_fill(TextOr(row["fill"]));
  *identity.mutable_hardware() = HardwareOf(series.environment);
  identity.set_lineage_id(TextOr(row["lineage_id"]));
  identity.set_simulated(row["simulated"].as<bool>());
  return series;
}

RunOrigin OriginOf(const pqxx::row& row) {
  RunOrigin origin;
  origin.node_ids = TextsOf(row["node_id"]);
  origin.node_names = TextsOf(row["node"]);
  origin.gpu_uuids = TextsOf(row["gpu_uuid"]);
  origin.provider = TextOr(row["provider"]);
  if (!row["price_per_hour"].is_null()) origin.price_per_hour = row["price_per_hour"].as<double>();
  origin.agent_version = TextOr(row["agent_version"]);
  return origin;
}

// Numbers keys in the order in which they come.
class KeyIndex {
 public:
  size_t Of(int64_t key) {
    const auto [it, fresh] = positions_.try_emplace(key, keys_.size());
    if (fresh) keys_.push_back(key);
    return it->second;
  }
  const std::vector<int64_t>& keys() const { return keys_; }

 private:
  std::unordered_map<int64_t, size_t> positions_;
  std::vector<int64_t> keys_;
};

// Collects rows of RunColumns.
class RunsBuilder {
 public:
  // `first` is the number of the first of the columns.
  void Add(const pqxx::row& row, pqxx::row::size_type first) {
    if (!IsTrue(row[first + 7])) {
      ++runs_.failed;
      return;
    }
    if (row[first + 3].is_null()) return;  // No measurement.
    Run& run = runs_.runs.emplace_back();
    run.series = series_.Of(NumberOf<int64_t>(row[first]));
    run.origin = origins_.Of(NumberOf<int64_t>(row[first + 1]));
    run.end_time = WallTime(std::chrono::microseconds(NumberOf<int64_t>(row[first + 2])));
    run.median = NumberOf<double>(row[first + 3]);
    if (!row[first + 4].is_null()) run.uncertainty = NumberOf<double>(row[first + 4]);
    run.excluded = IsTrue(row[first + 5]);
    run.result_id.assign(row[first + 6].c_str(), row[first + 6].size());
    if (!row[first + 8].is_null()) run.flags = TextsOf(row[first + 8]);
    if (!row[first + 9].is_null()) run.efficiency_spec = NumberOf<double>(row[first + 9]);
  }

  void AddFailed(int failed) { runs_.failed += failed; }

  // Reads the series and origins, and sorts the runs.
  Result<Runs> Finish(Transaction& transaction) && {
    for (const auto& row :
         transaction.exec_params("SELECT s.*, e.* FROM unnest($1::bigint[]) WITH ORDINALITY AS "
                                 "k(series_key, position) JOIN series s USING (series_key) "
                                 "JOIN environment e USING (environment_id) ORDER BY k.position",
                                 ArrayOf(series_.keys()))) {
      runs_.series.push_back(SeriesOf(row));
    }
    for (const auto& row :
         transaction.exec_params("SELECT o.* FROM unnest($1::bigint[]) WITH ORDINALITY AS "
                                 "k(origin_key, position) JOIN origin o USING (origin_key) "
                                 "ORDER BY k.position",
                                 ArrayOf(origins_.keys()))) {
      runs_.origins.push_back(OriginOf(row));
    }
    if (runs_.series.size() != series_.keys().size() ||
        runs_.origins.size() != origins_.keys().size()) {
      return Unavailable("results were deleted during the query");
    }
    std::sort(runs_.runs.begin(), runs_.runs.end(), [](const Run& a, const Run& b) {
      return a.end_time != b.end_time ? a.end_time < b.end_time : a.result_id < b.result_id;
    });
    return std::move(runs_);
  }

 private:
  Runs runs_;
  KeyIndex series_, origins_;
};

// Returns the SQL statement that selects the newest runs of lineage $1 (a group of series), at most
// $2 per set of GPUs or nodes. Considers only the newest $3 results of each series. The first
// column of every row is the number of failed results. If there are no runs, the statement returns
// one row in which all other columns are NULL.
// For speed, the statement ranks results using the index result_of_series alone, and reads only the
// rows of the runs that it returns.
const std::string& LineageSql() {
  static const std::string sql =
      "WITH n AS MATERIALIZED ("
      "  SELECT n.* FROM series s CROSS JOIN LATERAL ("
      "    SELECT r.series_key, r.origin_key, r.ts, r.sequence, r.end_time,"
      "      r.outcome IS NOT DISTINCT FROM 'ok' AS ok, r.median IS NOT NULL AS measured"
      "    FROM result r WHERE r.series_key = s.series_key AND r.\"primary\""
      "    ORDER BY r.ts DESC, r.sequence DESC LIMIT $3) n"
      "  WHERE s.lineage_id = $1),"
      "o AS MATERIALIZED ("
      "  SELECT origin_key, min(origin_key) OVER (PARTITION BY (CASE cardinality(members)"
      "    WHEN 1 THEN members[1] ELSE ARRAY(SELECT unnest(members) AS one ORDER BY one)::text END)"
      "    COLLATE \"C\") AS place"
      "  FROM origin CROSS JOIN LATERAL (SELECT coalesce(gpu_uuid, node) AS members) m"
      "  WHERE origin_key = ANY(ARRAY(SELECT DISTINCT origin_key FROM n))"
      "    AND imported_from IS NULL),"
      "ranked AS ("
      "  SELECT n.*, row_number() OVER (PARTITION BY o.place"
      "    ORDER BY n.end_time DESC NULLS LAST, n.sequence DESC) AS rank"
      "  FROM n JOIN o USING (origin_key) WHERE n.ok AND n.measured)"
      "SELECT f.failed, d.* "
      "FROM (SELECT count(*) AS failed FROM n JOIN o USING (origin_key) WHERE NOT n.ok) f "
      "LEFT JOIN (ranked x CROSS JOIN LATERAL ("
      "  SELECT " +
      RunColumns() +
      "  FROM result r WHERE r.series_key = x.series_key AND r.ts = x.ts"
      "    AND r.sequence = x.sequence) d) ON x.rank <= $2";
  return sql;
}

// Selects the lineages (groups of series) of the series in the table "changed". Omits series of
// imported results. Checks only one result per series, because either all results of a series are
// imported or none are.
constexpr char kLineagesOfChanged[] =
    "SELECT DISTINCT s.lineage_id FROM changed JOIN series s USING (series_key)"
    " CROSS JOIN LATERAL (SELECT r.origin_key FROM result r WHERE r.series_key = s.series_key"
    "   ORDER BY r.ts DESC, r.sequence DESC LIMIT 1) n"
    " JOIN origin o USING (origin_key) WHERE o.imported_from IS NULL ORDER BY s.lineage_id";

// An SQL condition that selects results "r" that were stored at or after $1 (in microseconds since
// 1970) and that analyses use, which are only the successful results of primary metrics.
constexpr char kChanged[] =
    "r.ts >= 'epoch'::timestamptz + $1::bigint * interval '1 microsecond' AND r.\"primary\""
    " AND r.outcome = 'ok'";

// Returns a time, in microseconds since 1970, before which no further results will appear. The next
// ListChangedLineages can then skip all earlier results.
// A result is stamped with the time at which its transaction began, but becomes visible only when
// that transaction commits. The returned time is therefore the start of the oldest open transaction
// that has written anything, minus `overlap`. This assumes that transactions first write within
// `overlap` of their start.
int64_t SettledTime(Transaction& transaction, Duration overlap) {
  return transaction
      .exec_params(
          "SELECT " +
              Microseconds("least(now(), (SELECT min(xact_start) FROM pg_stat_activity WHERE "
                           "datname = current_database() AND backend_xid IS NOT NULL AND "
                           "pid <> pg_backend_pid())) - $1::interval"),
          Interval(overlap))[0][0]
      .as<int64_t>();
}

}  // namespace

Result<Runs> ListRuns(Pool& pool, const std::string& text) {
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(text));
  return pool.Query("list_runs", [&](Transaction& transaction) -> Result<Runs> {
    ASSAY_ASSIGN_OR_RETURN(std::optional<ResultScan> scan, PlanScan(transaction, filter));
    if (!scan) return Runs();
    if (LimitScan(transaction, *scan, kMaxExaminedResults)) {
      return TooManyResults("more than " + std::to_string(kMaxExaminedResults) +
                            " results would have to be read");
    }
    RunsBuilder builder;
    for (const auto& row :
         RunScan(transaction, *scan, "", "SELECT f.* FROM (" + RowsSql(*scan, RunColumns()) + ") f",
                 kMaxExaminedResults)) {
      builder.Add(row, 0);
    }
    return std::move(builder).Finish(transaction);
  });
}

Result<Runs> ListRunsOfLineage(Pool& pool, const std::string& lineage_id, int per_place) {
  return pool.Query("list_runs_of_lineage", [&](Transaction& transaction) -> Result<Runs> {
    RunsBuilder builder;
    const pqxx::result rows =
        transaction.exec_params(LineageSql(), lineage_id, per_place, kMaxExaminedResults);
    builder.AddFailed(rows[0][0].as<int>());
    for (const auto& row : rows) {
      if (!row[1].is_null()) builder.Add(row, 1);
    }
    return std::move(builder).Finish(transaction);
  });
}

Result<ChangedLineages> ListChangedLineages(Pool& pool, const std::string& cursor,
                                            Duration overlap) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken(kCursorKind, cursor, 0));
  return pool.Query(
      "list_changed_lineages", [&](Transaction& transaction) -> Result<ChangedLineages> {
        // Must be read before the results, because a transaction may commit in between.
        const int64_t settled = SettledTime(transaction, overlap);
        // The clock of another server may be behind that of the one that returned the cursor.
        const int64_t from = std::min(after, settled);
        const std::string changed =
            settled - from > kMaxReadMicroseconds
                ? std::string(
                      "SELECT s.series_key FROM series s CROSS JOIN LATERAL ("
                      "  SELECT FROM result r WHERE r.series_key = s.series_key AND ") +
                      kChanged + " ORDER BY r.ts DESC, r.sequence DESC LIMIT 1) n"
                : std::string("SELECT DISTINCT r.series_key FROM result r WHERE ") + kChanged;
        const pqxx::result rows = transaction.exec_params(
            "WITH changed AS MATERIALIZED (" + changed + ") " + kLineagesOfChanged, from);
        return ChangedLineages{FirstTexts(rows), MakePageToken(kCursorKind, settled)};
      });
}

}  // namespace assay::storage
