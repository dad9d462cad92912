#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "storage/postgres/result_query.h"
#include "storage/postgres/result_rows.h"
#include "storage/postgres/sql.h"
#include "storage/result_order.h"
#include "wire/result_filter.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

constexpr int64_t kMaxGroups = 10'000;

// The expressions by whose values results are grouped.
struct GroupTexts {
  // In the order of the request. Refers to columns of the statement in GroupSql.
  std::vector<std::string> values;
  // Expressions over series, named t0, t1, ...
  std::vector<std::string> of_series;
  // Expressions that differ between the results of a series, named x0, x1, ...
  std::vector<std::string> of_result;
};

Result<GroupTexts> TextsOfGroups(const v1::GroupResultsRequest& request, ResultScan& scan) {
  GroupTexts texts;
  for (const std::string& name : request.group_by()) {
    ASSAY_ASSIGN_OR_RETURN(const SqlField field, FieldToSql(name, scan.condition.values));
    const bool list = field.type == schema::FieldType::kTexts;
    const std::string text = list ? "array_to_string(" + field.expression + ", ';')"
                                  : "(" + field.expression + ")::text";
    const std::string known = "coalesce(" + text + ", '') COLLATE \"C\"";
    const bool of_series = field.tables == JoinedTables{.series = true};
    std::vector<std::string>& list_of = of_series ? texts.of_series : texts.of_result;
    texts.values.push_back((of_series ? "c.t" : "a.x") + std::to_string(list_of.size()));
    list_of.push_back(known);
    if (!of_series) scan.condition.tables.Add(field.tables);
  }
  return texts;
}

// Returns ", EXPRESSION AS NAME" for each expression.
std::string Named(const std::vector<std::string>& expressions, const std::string& name) {
  std::string text;
  for (size_t i = 0; i < expressions.size(); ++i) {
    text += ", " + expressions[i] + " AS " + name + std::to_string(i);
  }
  return text;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// Returns two SQL common table expressions that group results:
// - `c` assigns each series (of comparable results) to a group of series. A group is identified by
//   the lowest key of its series.
// - `a` aggregates the results into one row per group of the response.
std::string GroupTables(const ResultScan& scan, const GroupTexts& texts) {
  std::string partition = "s.benchmark, s.parameters, s.metric, s.unit, s.cache, s.fill";
  for (const std::string& text : texts.of_series) partition += ", " + text;
  std::string by = "c.group_key";
  for (size_t i = 0; i < texts.of_result.size(); ++i) by += ", f.x" + std::to_string(i);
  const std::string rows =
      RowsSql(scan,
              "r.series_key, r.ts, r.sequence, r.origin_key, r.median, r.end_time,"
              " r.outcome IS NOT DISTINCT FROM 'ok' AS passed" +
                  Named(texts.of_result, "x"));
  return "c AS MATERIALIZED (SELECT s.series_key, coalesce(s.direction = 'lower', false) AS lower,"
         "  min(s.series_key) OVER (PARTITION BY " +
         partition + ") AS group_key" + Named(texts.of_series, "t") +
         "  FROM series s JOIN environment e USING (environment_id)" +
         (scan.series.restricted ? " WHERE s.series_key = ANY($2::bigint[])" : "") +
         "), a AS MATERIALIZED (SELECT " + by +
         ", count(*) AS results, count(*) FILTER (WHERE NOT f.passed) AS failed,"
         "  percentile_cont('{0.05, 0.5, 0.95}'::float8[]) WITHIN GROUP (ORDER BY f.median)"
         "    FILTER (WHERE f.passed) AS percentiles,"
         "  min(f.median) FILTER (WHERE f.passed) AS low,"
         "  max(f.median) FILTER (WHERE f.passed) AS high, max(f.end_time) AS newest,"
         // The position of the best result. Microseconds are exact in a float8.
         "  max(ARRAY[CASE WHEN NOT f.passed OR f.median IS NULL THEN '-Infinity'"
         "      WHEN c.lower THEN -f.median ELSE f.median END,"
         "    round(date_part('epoch', f.ts) * 1000000), f.sequence]::float8[]) AS best,"
         "  array_agg(DISTINCT f.origin_key) AS origins"
         "  FROM (" +
         rows + ") f JOIN c USING (series_key) GROUP BY " + by + " LIMIT $10)";
}

std::string GroupSelect(const GroupTexts& texts) {
  return "SELECT ARRAY[" + Joined(texts.values) +
         "]::text[] AS values, a.results, a.failed, a.percentiles[1] AS p05,"
         " a.percentiles[2] AS median, a.percentiles[3] AS p95, a.low, a.high, " +
         Microseconds("a.newest") +
         " AS newest, ('epoch'::timestamptz + a.best[2] * interval '1 microsecond')::text AS ts,"
         " a.best[3]::bigint AS sequence, a.origins"
         " FROM a JOIN c ON c.series_key = a.group_key";
}

v1::ResultGroup GroupOf(const pqxx::row& row) {
  v1::ResultGroup group;
  for (const std::string& value : TextsOf(row["values"])) group.add_values(value);
  group.set_result_count(row["results"].as<int>());
  group.set_failed_count(row["failed"].as<int>());
  if (!row["median"].is_null()) {
    group.set_median(row["median"].as<double>());
    group.set_low(row["low"].as<double>());
    group.set_high(row["high"].as<double>());
    group.set_p05(row["p05"].as<double>());
    group.set_p95(row["p95"].as<double>());
  }
  if (!row["newest"].is_null()) {
    *group.mutable_newest_time() = schema::ToTimestamp(TimeOf(row["newest"]));
  }
  return group;
}

// Sets the numbers of nodes and GPUs from the keys of each group's origins.
void CountPlaces(Transaction& transaction, const std::vector<std::vector<std::string>>& origins,
                 std::vector<v1::ResultGroup>& groups) {
  using Texts = std::vector<std::string>;
  // By origin key. Without order, because there may be thousands.
  std::unordered_map<std::string, std::pair<Texts, Texts>> places;
  ArrayLiteral keys;
  for (const Texts& of_group : origins) {
    for (const std::string& key : of_group) {
      if (places.try_emplace(key).second) keys.Add(key);
    }
  }
  for (const auto& row : transaction.exec_params(
           "SELECT origin_key, node_id, gpu_uuid FROM origin WHERE origin_key = ANY($1::bigint[])",
           keys.Finish())) {
    places[row[0].as<std::string>()] = {TextsOf(row[1]), TextsOf(row[2])};
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    std::unordered_set<std::string_view> nodes, gpus;
    for (const std::string& key : origins[i]) {
      const auto& [node_ids, gpu_uuids] = places[key];
      nodes.insert(node_ids.begin(), node_ids.end());
      gpus.insert(gpu_uuids.begin(), gpu_uuids.end());
    }
    groups[i].set_node_count(static_cast<int>(nodes.size()));
    groups[i].set_gpu_count(static_cast<int>(gpus.size()));
  }
}

Result<v1::GroupResultsResponse> Group(Transaction& transaction, ResultScan scan,
                                       const v1::GroupResultsRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const GroupTexts texts, TextsOfGroups(request, scan));
  if (LimitScan(transaction, scan, kMaxExaminedResults)) {
    return TooManyResults("more than " + std::to_string(kMaxExaminedResults) +
                          " results would have to be grouped");
  }
  std::vector<v1::ResultGroup> groups;
  std::vector<RowPosition> best;
  std::vector<std::vector<std::string>> origins;
  for (const auto& row :
       RunScan(transaction, scan, GroupTables(scan, texts), GroupSelect(texts), kMaxGroups + 1)) {
    groups.push_back(GroupOf(row));
    best.push_back({row["ts"].as<std::string>(), row["sequence"].as<int64_t>()});
    origins.push_back(TextsOf(row["origins"]));
  }
  CountPlaces(transaction, origins, groups);
  const pqxx::result rows = ReadResults(transaction, best);
  if (rows.size() != static_cast<pqxx::result::size_type>(groups.size())) {
    return Unavailable("results were deleted during the query");
  }
  for (pqxx::result::size_type i = 0; i < rows.size(); ++i) {
    *groups[static_cast<size_t>(i)].mutable_best() = StoredResultOf(rows[i]);
  }
  return MakeGroupResponse(request, std::move(groups));
}

}  // namespace

Result<v1::GroupResultsResponse> GroupResults(Pool& pool, const v1::GroupResultsRequest& request) {
  using Response = v1::GroupResultsResponse;
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(request.filter()));
  ASSAY_RETURN_IF_ERROR(CheckGroups(request));
  return pool.Query("group_results", [&](Transaction& transaction) -> Result<Response> {
    ASSAY_ASSIGN_OR_RETURN(std::optional<ResultScan> scan, PlanScan(transaction, filter));
    return scan ? Group(transaction, *std::move(scan), request) : Response();
  });
}

}  // namespace assay::storage
