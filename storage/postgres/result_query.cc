#include "storage/postgres/result_query.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/page.h"
#include "storage/postgres/result_rows.h"
#include "storage/postgres/sql.h"
#include "storage/result_order.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

using Path = ResultScan::Path;

// The maximum number of keys (of series or origins) for which ListNewest searches an index once per
// key. With more keys, it first looks for the page among the newest kFirstLook results of all keys,
// which takes just one search.
constexpr size_t kManyKeys = 200;
constexpr int64_t kFirstLook = 5'000;

std::string Number(int64_t number) { return std::to_string(number); }

// Returns at most `limit` positions, newest first.
std::vector<RowPosition> FindPage(Transaction& transaction, const ResultScan& scan, int limit) {
  std::vector<RowPosition> found;
  for (const auto& row :
       RunScan(transaction, scan, "",
               "SELECT f.ts::text, f.sequence FROM (" + PageSql(scan, "r.ts, r.sequence") + ") f",
               limit)) {
    found.push_back({row[0].as<std::string>(), row[1].as<int64_t>()});
  }
  return found;
}

// Returns the number of results of a scan, but at most kMaxCountedResults.
int CountResults(Transaction& transaction, const ResultScan& scan) {
  // To count the newest results, use PageSql, whose ORDER BY clause makes PostgreSQL's planner use
  // the index result_newest. Otherwise PostgreSQL would read a partition from its beginning, which
  // may be far from scan.before, where the counted results begin.
  const std::string rows =
      scan.path == Path::kNewest ? PageSql(scan, "r.sequence") : RowsSql(scan, "r.sequence");
  return RunScan(transaction, scan, "",
                 "SELECT count(*) FROM (SELECT FROM (" + rows + ") f LIMIT $10) n",
                 kMaxCountedResults)[0][0]
      .as<int>();
}

// Looks for a page among the newest kFirstLook results. Most filters match enough of these.
std::vector<RowPosition> FindAmongNewest(Transaction& transaction, ResultScan scan, int limit) {
  const bool many = (scan.path == Path::kSeries && scan.series.keys.size() > kManyKeys) ||
                    (scan.path == Path::kOrigin && scan.origins.keys.size() > kManyKeys);
  if (!many && !(scan.path == Path::kNewest && scan.selective)) return {};
  scan.path = Path::kNewest;
  LimitScan(transaction, scan, kFirstLook);
  return FindPage(transaction, scan, limit);
}

Result<ResultPage> ListNewest(Transaction& transaction, ResultScan scan,
                              const PageRequest& request) {
  const int limit = PageSize(request) + 1;
  std::vector<RowPosition> found = FindAmongNewest(transaction, scan, limit);
  const bool cut = scan.selective && LimitScan(transaction, scan, kMaxExaminedResults);
  if (static_cast<int>(found.size()) < limit) found = FindPage(transaction, scan, limit);
  if (cut && static_cast<int>(found.size()) < PageSize(request)) {
    return TooManyResults("only " + Number(static_cast<int64_t>(found.size())) + " of the newest " +
                          Number(kMaxExaminedResults) +
                          " results match, and older ones are not examined");
  }
  PageFiller<v1::StoredResult> filler('r', request);
  size_t taken = 0;
  for (const auto& row : ReadResults(transaction, found)) {
    if (!filler.Add(StoredResultOf(row), 0)) break;
    ++taken;
  }
  ResultPage page{std::move(filler).Take(), 0};
  if (page.next_token.empty()) return page;
  scan.before = found[taken - 1];
  page.next_token = MakeResultToken("", {scan.before.ts, scan.before.sequence});
  page.remaining = CountResults(transaction, scan);
  return page;
}

// A column by which rows are sorted.
struct SortColumn {
  std::string expression;
  std::string type;
  bool descending = false;
};

// Adds the columns for one field. A field that may contain numbers and other text has two.
void AddColumns(const SqlField& field, bool descending, std::vector<SortColumn>& columns) {
  using enum schema::FieldType;
  const std::string& x = field.expression;
  const auto add = [&](const std::string& expression, const char* type) {
    columns.push_back({expression, type, descending});
  };
  switch (field.type) {
    case kNumber:
      return add(x + "::float8", "float8");
    case kBoolean:
      return add("(" + x + ")::int::float8", "float8");
    case kTime:
      return add("extract(epoch FROM " + x + ")::float8", "float8");
    case kTexts:
      return add("left(array_to_string(" + x + ", ';'), 200) COLLATE \"C\"", "text");
    case kVersion:
      add("assay_version(" + x + ")", "bigint[]");
      break;
    default:
      break;
  }
  if (field.of_map) {
    add("CASE WHEN " + x + " ~ '^[+-]?\\d{1,15}(\\.\\d{1,15})?$' THEN " + x + "::float8 END",
        "float8");
  }
  add("left(" + x + ", 200) COLLATE \"C\"", "text");
}

// Returns the condition that a row comes after `position`. Binds the position's values.
std::string AfterPosition(const std::vector<SortColumn>& columns, const ResultPosition& position,
                          std::vector<std::string>& values) {
  const auto bind = [&](std::string value) {
    values.push_back(std::move(value));
    return "($1::text[])[" + std::to_string(values.size()) + "]";
  };
  std::string after = "(m.ts, m.sequence) < (" + bind(position.ts) + "::timestamptz, " +
                      bind(std::to_string(position.sequence)) + "::bigint)";
  for (size_t i = columns.size(); i-- > 0;) {
    const std::string key = "m.k" + std::to_string(i);
    const nlohmann::json& value = position.keys[i];
    if (value.is_null()) {
      after = "(" + key + " IS NULL AND " + after + ")";
      continue;
    }
    const std::string bound = bind(value.get<std::string>()) + "::" + columns[i].type;
    after = "(" + key + (columns[i].descending ? " < " : " > ") + bound + " OR " + key +
            " IS NULL OR (" + key + " = " + bound + " AND " + after + "))";
  }
  return after;
}

Result<std::string> AfterToken(const std::string& order, const std::string& token,
                               const std::vector<SortColumn>& columns,
                               std::vector<std::string>& values) {
  if (token.empty()) return std::string("true");
  ASSAY_ASSIGN_OR_RETURN(const ResultPosition position, ParseResultToken(order, token));
  const bool valid = position.keys.size() == columns.size() &&
                     std::all_of(position.keys.begin(), position.keys.end(),
                                 [](const auto& key) { return key.is_null() || key.is_string(); });
  if (!valid) return ParseResultToken("", "").status();
  return AfterPosition(columns, position, values);
}

// Returns a statement that selects a page of sorted results. Its columns are ts, sequence, the
// number of results from the start of the page to the end of the list, and the text of each sort
// key.
std::string SortSql(const std::vector<SortColumn>& columns, const std::string& after) {
  std::string texts, by;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string key = "m.k" + std::to_string(i);
    texts += ", " + key + "::text";
    by += key + (columns[i].descending ? " DESC" : "") + " NULLS LAST, ";
  }
  return "SELECT m.ts::text, m.sequence, (SELECT count(*) FROM matched m WHERE " + after + ")" +
         texts + " FROM matched m WHERE " + after + " ORDER BY " + by +
         "m.ts DESC, m.sequence DESC LIMIT $10";
}

Result<ResultPage> ListSorted(Transaction& transaction, ResultScan scan, const PageRequest& request,
                              const std::string& order_text) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<OrderField> order, ParseResultOrder(order_text));
  std::vector<SortColumn> columns;
  std::vector<std::string>& values = scan.condition.values;
  for (const OrderField& by : order) {
    ASSAY_ASSIGN_OR_RETURN(const SqlField field, FieldToSql(by.name, values));
    scan.condition.tables.Add(field.tables);
    AddColumns(field, by.descending, columns);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string after,
                         AfterToken(order_text, request.token, columns, values));
  if (LimitScan(transaction, scan, kMaxExaminedResults)) {
    return TooManyResults("more than " + Number(kMaxExaminedResults) +
                          " results would have to be sorted");
  }
  std::string found = "r.ts, r.sequence";
  for (size_t i = 0; i < columns.size(); ++i) {
    found += ", " + columns[i].expression + " AS k" + std::to_string(i);
  }
  std::vector<RowPosition> positions;
  std::vector<nlohmann::json> keys;
  int64_t total = 0;
  for (const auto& row :
       RunScan(transaction, scan, "matched AS MATERIALIZED (" + RowsSql(scan, found) + ")",
               SortSql(columns, after), PageSize(request) + 1)) {
    positions.push_back({row[0].as<std::string>(), row[1].as<int64_t>()});
    total = row[2].as<int64_t>();
    nlohmann::json& texts = keys.emplace_back(nlohmann::json::array());
    for (pqxx::row::size_type i = 3; i < row.size(); ++i) {
      texts.push_back(row[i].is_null() ? nlohmann::json() : nlohmann::json(row[i].c_str()));
    }
  }
  PageFiller<v1::StoredResult> filler('r', request);
  size_t taken = 0;
  for (const auto& row : ReadResults(transaction, positions)) {
    if (!filler.Add(StoredResultOf(row), 0)) break;
    ++taken;
  }
  ResultPage page{std::move(filler).Take(), 0};
  if (page.next_token.empty()) return page;
  const RowPosition& last = positions[taken - 1];
  page.next_token = MakeResultToken(order_text, {last.ts, last.sequence, keys[taken - 1]});
  page.remaining =
      static_cast<int>(std::min<int64_t>(total - static_cast<int64_t>(taken), kMaxCountedResults));
  return page;
}

}  // namespace

Result<ResultPage> ListResults(Pool& pool, const std::string& filter_text,
                               const PageRequest& request, const std::string& order) {
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(filter_text));
  ASSAY_RETURN_IF_ERROR(ParseResultOrder(order).status());
  ResultPosition begin;
  if (!request.token.empty()) {
    ASSAY_ASSIGN_OR_RETURN(begin, ParseResultToken(order, request.token));
  }
  return pool.Query("list_results", [&](Transaction& transaction) -> Result<ResultPage> {
    ASSAY_ASSIGN_OR_RETURN(std::optional<ResultScan> scan, PlanScan(transaction, filter));
    if (!scan) return ResultPage();
    if (!order.empty()) return ListSorted(transaction, *std::move(scan), request, order);
    if (!request.token.empty()) scan->before = {begin.ts, begin.sequence};
    return ListNewest(transaction, *std::move(scan), request);
  });
}

Status TooManyResults(const std::string& what) {
  return InvalidArgument("filter: " + what, Reason::kTooManyResults)
      .WithHint(
          "add a condition that an index serves: benchmark, gpu.model, parameters.NAME, campaign, "
          "node, gpu.uuid, or time >= DATE");
}

pqxx::result ReadResults(Transaction& transaction, const std::vector<RowPosition>& positions) {
  ArrayLiteral times, sequences;
  for (const RowPosition& position : positions) {
    times.Add(position.ts);
    sequences.Add(position.sequence);
  }
  return transaction.exec_params(
      "SELECT " + StoredColumns() +
          "FROM unnest($1::timestamptz[], $2::bigint[])"
          "  WITH ORDINALITY AS p(ts, sequence, position)"
          "JOIN result_view v USING (ts, sequence) JOIN case_result d USING (job_id, case_index) "
          "ORDER BY p.position",
      times.Finish(), sequences.Finish());
}

}  // namespace assay::storage
