#include "storage/postgres/result_scan.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

using Path = ResultScan::Path;

// The maximum number of keys per table to list in a query. If more keys match a condition, the
// query joins the table instead and checks the condition for each row.
constexpr size_t kMaxListedKeys = 20'000;
// The maximum number of keys for which an index is searched. Each key costs one search.
constexpr size_t kMaxSearchedKeys = 2'000;
// If more than this share of keys matches, reading the newest results of all keys costs less.
constexpr double kMaxShare = 0.5;
// The amount by which the end time of a result may be later than the time at which it was stored.
// Results are stored after they end, but the end time comes from the node's clock, which may be
// ahead of the database's.
constexpr double kClockSkewSeconds = 86'400;

constexpr char kNewestFirst[] = " ORDER BY r.ts DESC, r.sequence DESC";

struct PathKeys {
  const char* column;
  const char* keys;  // A parameter of RunScan.
};

PathKeys KeysOf(Path path) {
  switch (path) {
    case Path::kSeries:
      return {"r.series_key", "$2::bigint[]"};
    case Path::kOrigin:
      return {"r.origin_key", "$3::bigint[]"};
    default:
      return {"r.campaign_id", "$5::text[]"};
  }
}

const ScanKeys& SearchedKeys(const ResultScan& scan) {
  switch (scan.path) {
    case Path::kSeries:
      return scan.series;
    case Path::kOrigin:
      return scan.origins;
    default:
      return scan.campaigns;
  }
}

// Returns the WHERE clause of a scan, without the condition on the key of its path.
std::string Where(const ResultScan& scan) {
  // The separate comparisons of ts (the time of storage) let PostgreSQL skip whole partitions.
  // Comparisons that are always true are omitted, because PostgreSQL would evaluate them for every
  // row.
  std::string where = " WHERE true";
  if (scan.before.ts != kLastPosition.ts) {
    where += " AND r.ts <= $6::timestamptz AND (r.ts, r.sequence) < ($6::timestamptz, $7::bigint)";
  }
  if (scan.after.ts != kFirstPosition.ts) where += " AND r.ts >= $8::timestamptz";
  if (scan.after.sequence != kFirstPosition.sequence) {
    where += " AND (r.ts, r.sequence) > ($8::timestamptz, $9::bigint)";
  }
  const auto restrict_to = [&](Path path, const ScanKeys& keys) {
    if (!keys.restricted || scan.path == path) return;
    where += std::string(" AND ") + KeysOf(path).column + " = ANY(" + KeysOf(path).keys + ")";
  };
  restrict_to(Path::kSeries, scan.series);
  restrict_to(Path::kOrigin, scan.origins);
  restrict_to(Path::kCampaign, scan.campaigns);
  if (!scan.excluded_origins.empty()) where += " AND r.origin_key <> ALL($4::bigint[])";
  return where + " AND " + scan.condition.text;
}

// Returns a SELECT of the rows of the scan. `tail` follows the conditions of each key.
std::string Select(const ResultScan& scan, const std::string& columns, const std::string& tail) {
  const std::string select =
      "SELECT " + columns + " FROM " + ResultsFrom(scan.condition.tables) + Where(scan);
  if (scan.path == Path::kNewest) return select + tail;
  const PathKeys path = KeysOf(scan.path);
  return std::string("SELECT p.* FROM unnest(") + path.keys + ") AS k(key) CROSS JOIN LATERAL (" +
         select + " AND " + path.column + " = k.key" + tail + ") p";
}

Result<ScanKeys> KeysThatMatch(Transaction& transaction, const std::string& select,
                               const Filter& filter) {
  if (filter.kind == Filter::Kind::kAll) return ScanKeys();
  ASSAY_ASSIGN_OR_RETURN(const SqlCondition condition, FilterToSql(filter));
  return ScanKeys{true,
                  FirstTexts(transaction.exec_params(
                      "WITH given AS (SELECT $1::text[]) " + select + condition.text + " LIMIT $2",
                      ArrayOf(condition.values), int64_t{kMaxListedKeys + 1}))};
}

void AddConjunct(Filter& conjunction, const Filter& filter) {
  Filter both;
  both.kind = Filter::Kind::kAnd;
  both.children = {std::move(conjunction), filter};
  conjunction = std::move(both);
}

// Drops the keys if there are too many to list in a query, and adds the filter that selects them to
// split.others. The query then evaluates this filter for each result.
void KeepFew(ScanKeys& keys, const Filter& filter, SplitFilter& split) {
  if (keys.keys.size() <= kMaxListedKeys) return;
  keys = {};
  AddConjunct(split.others, filter);
  split.more = true;
}

// Returns the fraction of the keys of `table` that match.
double ShareOf(Transaction& transaction, const ScanKeys& keys, const char* table) {
  if (!keys.restricted) return 1;
  const pqxx::result rows = transaction.exec(std::string("SELECT count(*) FROM ") + table);
  return static_cast<double>(keys.keys.size()) / rows[0][0].as<double>();
}

// Sets scan.path and scan.selective.
void ChoosePath(Transaction& transaction, ResultScan& scan) {
  double least = kMaxShare;
  const auto consider = [&](Path path, const ScanKeys& keys, double share) {
    if (!keys.restricted || share > least || keys.keys.size() > kMaxSearchedKeys) return;
    scan.path = path;
    least = share;
  };
  const double series = ShareOf(transaction, scan.series, "series");
  const double origins = ShareOf(transaction, scan.origins, "origin");
  consider(Path::kSeries, scan.series, series);
  consider(Path::kOrigin, scan.origins, origins);
  // Always prefer campaigns, because a campaign has few results.
  consider(Path::kCampaign, scan.campaigns, 0);
  scan.selective = scan.selective || (series <= kMaxShare && scan.path != Path::kSeries) ||
                   (origins <= kMaxShare && scan.path != Path::kOrigin) ||
                   (scan.campaigns.restricted && scan.path != Path::kCampaign);
}

std::string TimeText(double seconds) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.6f", seconds);
  return text;
}

}  // namespace

Result<std::optional<ResultScan>> PlanScan(Transaction& transaction, const Filter& filter) {
  const std::optional<ResultScan> none;
  SplitFilter split = SplitByTable(filter);
  ResultScan scan;
  ASSAY_ASSIGN_OR_RETURN(
      scan.series,
      KeysThatMatch(transaction,
                    "SELECT s.series_key FROM series s JOIN environment e USING (environment_id) "
                    "WHERE ",
                    split.of_series));
  ASSAY_ASSIGN_OR_RETURN(
      scan.origins,
      KeysThatMatch(transaction, "SELECT o.origin_key FROM origin o WHERE ", split.of_origin));
  ASSAY_ASSIGN_OR_RETURN(
      scan.campaigns,
      KeysThatMatch(transaction, "SELECT c.campaign_id FROM campaign c WHERE ", split.of_campaign));
  if (!split.jobs.empty() && !scan.campaigns.restricted) {
    scan.campaigns = {true, FirstTexts(transaction.exec_params(
                                "SELECT DISTINCT campaign_id FROM job WHERE job_id = ANY($1)",
                                ArrayOf(split.jobs)))};
  }
  for (const ScanKeys* keys : {&scan.series, &scan.origins, &scan.campaigns}) {
    if (keys->restricted && keys->keys.empty()) return none;
  }
  KeepFew(scan.series, split.of_series, split);
  KeepFew(scan.origins, split.of_origin, split);
  KeepFew(scan.campaigns, split.of_campaign, split);
  if (split.measured_only) {
    scan.excluded_origins = FirstTexts(
        transaction.exec("SELECT origin_key FROM origin WHERE imported_from IS NOT NULL"));
  }
  ASSAY_ASSIGN_OR_RETURN(scan.condition, FilterToSql(split.others));
  if (split.since) {
    const pqxx::result rows = transaction.exec_params("SELECT to_timestamp($1::float8)::text",
                                                      TimeText(*split.since - kClockSkewSeconds));
    scan.after.ts = rows[0][0].as<std::string>();
  }
  scan.selective = split.more;
  ChoosePath(transaction, scan);
  return std::optional<ResultScan>(std::move(scan));
}

bool LimitScan(Transaction& transaction, ResultScan& scan, int64_t most) {
  ResultScan all = scan;
  all.condition = {};
  for (ScanKeys* keys : {&all.series, &all.origins, &all.campaigns}) keys->restricted = false;
  all.excluded_origins.clear();
  int64_t per_key = most;
  if (scan.path != Path::kNewest) {
    per_key = std::max<int64_t>(1, most / static_cast<int64_t>(SearchedKeys(scan).keys.size()));
  }
  const std::string rows =
      Select(all, "r.ts, r.sequence", std::string(kNewestFirst) + " OFFSET $10 LIMIT 1");
  const pqxx::result last = RunScan(
      transaction, all, "",
      "SELECT ts::text, sequence FROM (" + rows + ") h ORDER BY h.ts DESC, h.sequence DESC LIMIT 1",
      per_key);
  if (last.empty()) return false;
  scan.after = {last[0][0].as<std::string>(), last[0][1].as<int64_t>()};
  return true;
}

std::string PageSql(const ResultScan& scan, const std::string& columns) {
  const std::string rows = Select(scan, columns, std::string(kNewestFirst) + " LIMIT $10");
  if (scan.path == Path::kNewest) return rows;
  return "SELECT * FROM (" + rows + ") q ORDER BY q.ts DESC, q.sequence DESC LIMIT $10";
}

std::string RowsSql(const ResultScan& scan, const std::string& columns) {
  // OFFSET 0 keeps PostgreSQL's planner from merging this subquery into the outer query. Without
  // merging, PostgreSQL searches the index once per key. With it, the planner would estimate how
  // many rows match an array of keys, and might read the whole table.
  return Select(scan, columns, scan.path == Path::kNewest ? "" : " OFFSET 0");
}

pqxx::result RunScan(Transaction& transaction, const ResultScan& scan, const std::string& with,
                     const std::string& select, int64_t limit) {
  // The first table expression declares the types of all parameters, because PostgreSQL cannot
  // infer the types of parameters that `select` does not use.
  return transaction.exec_params(
      "WITH given AS (SELECT $1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[],"
      " $6::timestamptz, $7::bigint, $8::timestamptz, $9::bigint, $10::bigint)" +
          (with.empty() ? "" : ", " + with) + " " + select,
      ArrayOf(scan.condition.values), ArrayOf(scan.series.keys), ArrayOf(scan.origins.keys),
      ArrayOf(scan.excluded_origins), ArrayOf(scan.campaigns.keys), scan.before.ts,
      scan.before.sequence, scan.after.ts, scan.after.sequence, limit);
}

}  // namespace assay::storage
