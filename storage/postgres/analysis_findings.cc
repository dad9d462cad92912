#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "model/page.h"
#include "storage/analysis_rules.h"
#include "storage/postgres/analysis_queries.h"
#include "storage/postgres/analysis_rows.h"
#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

// Returns the stored messages of the rows whose `key` is one of `ids`, by id.
template <typename Message>
std::map<std::string, Message> Stored(Transaction& transaction, const std::string& table,
                                      const std::string& key, const Rows& rows) {
  ArrayLiteral ids;
  for (const auto& [id, unused] : rows) ids.Add(id);
  std::map<std::string, Message> stored;
  for (const auto& row : transaction.exec_params(
           "SELECT " + key + ", content FROM " + table + " WHERE " + key + " = ANY($1::text[])",
           ids.Finish())) {
    stored[row[0].as<std::string>()] = MessageOf<Message>(row[1]);
  }
  return stored;
}

// Stores regressions or incidents.
template <typename Message>
Status PutKept(Transaction& transaction, const std::string& table, const std::string& key,
               const std::vector<Message>& messages, const std::string& (Message::*id)() const) {
  Rows rows;
  for (const Message& message : messages) rows[(message.*id)()] = RowOf(message);
  if (rows.empty()) return Status::Ok();
  const std::map<std::string, Message> before = Stored<Message>(transaction, table, key, rows);
  for (const Message& message : messages) {
    const auto stored = before.find((message.*id)());
    if (stored == before.end()) continue;
    Message kept = message;
    KeepAcknowledgement(stored->second, kept);
    rows[stored->first] = RowOf(kept);
  }
  return InsertRows(transaction, table, key, rows);
}

// Stores summaries. The summaries of a lineage must have different keys.
template <typename Summary>
Status PutSummaries(Transaction& transaction, const std::string& table,
                    const std::vector<Summary>& summaries) {
  Rows rows;
  for (const Summary& summary : summaries) rows[std::to_string(rows.size())] = RowOf(summary);
  return InsertRows(transaction, table, "", rows);
}

// Replaces what is known of each lineage.
Status PutLineages(Transaction& transaction, const Findings& findings) {
  const std::string ids = ArrayOf(findings.lineage_ids);
  for (const char* table :
       {"outlier", "judged_lineage", "driver_median", "driver_change", "case_cost", "node_flag"}) {
    transaction.exec_params(
        std::string("DELETE FROM ") + table + " WHERE lineage_id = ANY($1::text[])", ids);
  }
  Rows outliers, judged;
  for (const v1::Outlier& outlier : findings.outliers) {
    outliers[std::to_string(outliers.size())] = RowOf(outlier);
  }
  const std::set<std::string> simulated = [&] {
    const std::vector<std::string> texts = FirstTexts(transaction.exec_params(
        "SELECT lineage_id FROM series WHERE lineage_id = ANY($1::text[]) AND simulated", ids));
    return std::set<std::string>(texts.begin(), texts.end());
  }();
  for (const Findings::Judged& one : findings.judged) {
    judged[one.lineage_id] = {{"lineage_id", one.lineage_id},
                              {"simulated", simulated.contains(one.lineage_id)},
                              {"with_peers", one.with_peers},
                              {"without_peers", one.without_peers}};
  }
  ASSAY_RETURN_IF_ERROR(InsertRows(transaction, "outlier", "", outliers));
  ASSAY_RETURN_IF_ERROR(InsertRows(transaction, "judged_lineage", "lineage_id", judged));
  ASSAY_RETURN_IF_ERROR(PutSummaries(transaction, "driver_median", findings.driver_medians));
  ASSAY_RETURN_IF_ERROR(PutSummaries(transaction, "driver_change", findings.driver_changes));
  ASSAY_RETURN_IF_ERROR(PutSummaries(transaction, "case_cost", findings.case_costs));
  return PutSummaries(transaction, "node_flag", findings.node_flags);
}

// An SQL condition and the values to which it refers.
class Condition {
 public:
  void Add(const std::string& text) { text_ += " AND " + text; }

  // Returns an expression for a text.
  std::string Bind(const std::string& value) {
    values_.push_back(value);
    return "($1::text[])[" + std::to_string(values_.size()) + "]";
  }

  const std::string& text() const { return text_; }
  // The value of $1.
  std::string values() const { return ArrayOf(values_); }

 private:
  std::string text_ = "$1::text[] IS NOT NULL";
  std::vector<std::string> values_;
};

constexpr char kOpen[] = "(state IS NULL OR state NOT IN ('resolved', 'cleared'))";

// Returns the condition that selects regressions by the node and lineage of the query.
std::string PlaceAndCase(const RegressionQuery& query, Condition& condition) {
  std::string text = "true";
  if (!query.node_name.empty()) {
    text += " AND node @> ARRAY[" + condition.Bind(query.node_name) + "]";
  }
  if (!query.lineage_id.empty()) text += " AND lineage_id = " + condition.Bind(query.lineage_id);
  return text;
}

// Adds the conditions that regressions and incidents share.
void AddState(const RegressionQuery& query, Condition& condition) {
  if (!query.include_closed) condition.Add(kOpen);
  if (!query.incident_id.empty()) {
    condition.Add("incident_id = " + condition.Bind(query.incident_id));
  }
  if (query.simulated) condition.Add(*query.simulated ? "simulated" : "NOT simulated");
}

// Returns, for each place (GPUs or nodes) in `places`, the number of lineages (groups of comparable
// results) in which there were enough other places to compare it with. Also sets judged_places and
// unjudged_places in the response.
std::map<std::string, int> CountJudged(Transaction& transaction, bool simulated,
                                       const std::set<std::string>& places,
                                       v1::ListOutliersResponse& response) {
  std::map<std::string, int> counts;
  for (const auto& row : transaction.exec_params(
           "WITH c AS MATERIALIZED ("
           "  SELECT p.place, count(*) FILTER (WHERE p.peers) AS lineages"
           "  FROM judged_lineage j CROSS JOIN LATERAL ("
           "    SELECT unnest(j.with_peers) AS place, true AS peers"
           "    UNION ALL SELECT unnest(j.without_peers), false) p"
           "  WHERE j.simulated = $1 GROUP BY p.place) "
           "SELECT NULL, count(*) FILTER (WHERE lineages > 0),"
           "  count(*) FILTER (WHERE lineages = 0) FROM c "
           "UNION ALL SELECT place, lineages, 0 FROM c WHERE place = ANY($2::text[])",
           simulated, ArrayOf(places))) {
    if (row[0].is_null()) {
      response.set_judged_places(row[1].as<int>());
      response.set_unjudged_places(row[2].as<int>());
    } else {
      counts[row[0].as<std::string>()] = row[1].as<int>();
    }
  }
  return counts;
}

JudgeState ReadState(Transaction& transaction) {
  const pqxx::row row =
      transaction.exec("SELECT cursor, " + Microseconds("judged_until") + " FROM judge_state")[0];
  JudgeState state{row[0].as<std::string>(), std::nullopt};
  if (!row[1].is_null()) state.judged_until = TimeOf(row[1]);
  return state;
}

}  // namespace

Result<JudgeState> GetJudgeState(Pool& pool) {
  return pool.Query("get_judge_state", [&](Transaction& transaction) -> Result<JudgeState> {
    return ReadState(transaction);
  });
}

Status PutFindings(Pool& pool, const Findings& findings, int64_t term) {
  return pool.Run("put_findings", [&](Transaction& transaction) -> Status {
    LockFindings(transaction);
    // Another scheduler may have been elected while this call was waiting for the lock. To detect
    // this, check the term in a separate statement, whose snapshot is taken after acquiring the
    // lock.
    if (!transaction.exec_params("SELECT " + IsTerm("$1::bigint"), term)[0][0].as<bool>()) {
      return AnotherScheduler();
    }
    ASSAY_RETURN_IF_ERROR(PutKept(transaction, "regression", "regression_id", findings.regressions,
                                  &v1::Regression::regression_id));
    ASSAY_RETURN_IF_ERROR(PutKept(transaction, "incident", "incident_id", findings.incidents,
                                  &v1::Incident::incident_id));
    ASSAY_RETURN_IF_ERROR(PutLineages(transaction, findings));
    const std::string until =
        findings.judged_until ? std::to_string(MicrosecondsOf(*findings.judged_until)) : "";
    transaction.exec_params(
        "UPDATE judge_state SET cursor = coalesce(nullif($1, ''), cursor), judged_until = "
        "coalesce(" +
            TimeOfMicroseconds("nullif($2, '')") + ", judged_until)",
        findings.cursor, until);
    return Status::Ok();
  });
}

Result<Page<v1::Regression>> ListRegressions(Pool& pool, const RegressionQuery& query,
                                             const PageRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(const RegressionPosition after, ParsePosition(request.token));
  Condition condition;
  AddState(query, condition);
  condition.Add(PlaceAndCase(query, condition));
  if (!request.token.empty()) {
    condition.Add("(detected_time, regression_id) < (" +
                  TimeOfMicroseconds(condition.Bind(std::to_string(after.microseconds))) + ", " +
                  condition.Bind(after.regression_id) + ")");
  }
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result rows,
      pool.Execute("list_regressions",
                   "SELECT " + Microseconds("detected_time") +
                       ", regression_id, content FROM regression WHERE " + condition.text() +
                       " ORDER BY detected_time DESC, regression_id DESC LIMIT $2",
                   condition.values(), PageSize(request) + 1));
  PageFiller<v1::Regression> filler(kRegressionPages, request);
  for (const auto& row : rows) {
    const RegressionPosition position{row[0].as<int64_t>(), row[1].as<std::string>()};
    if (!filler.Add(MessageOf<v1::Regression>(row[2]), PositionText(position))) break;
  }
  return std::move(filler).Take();
}

Result<std::vector<PlaceRegressions>> CountOpenRegressions(Pool& pool, int limit) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result rows,
      pool.Execute("count_open_regressions",
                   "SELECT coalesce(node, '{}'), coalesce(gpu_uuid, '{}'), count(*)::int "
                   "FROM regression WHERE " +
                       std::string(kOpen) +
                       " AND (incident_id IS NULL OR incident_id NOT IN (SELECT incident_id FROM "
                       "incident WHERE cause IN ('driver', 'agent', 'case'))) "
                       "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT $1",
                   limit));
  std::vector<PlaceRegressions> places;
  for (const auto& row : rows) {
    places.push_back({TextsOf(row[0]), TextsOf(row[1]), row[2].as<int>()});
  }
  return places;
}

Result<FindingCounts> CountFindings(Pool& pool, int limit) {
  return pool.Query("count_findings", [&](Transaction& transaction) -> Result<FindingCounts> {
    FindingCounts counts;
    for (const auto& row :
         transaction.exec("SELECT state, simulated, count(*)::int FROM incident WHERE " +
                          std::string(kOpen) + " GROUP BY 1, 2 ORDER BY 1, 2")) {
      counts.incidents.push_back(
          {EnumOf<v1::RegressionState>(row[0]), row[1].as<bool>(), row[2].as<int>()});
    }
    for (const auto& row :
         transaction.exec_params("SELECT kind, coalesce(gpu_model, ''), simulated,"
                                 "  count(DISTINCT (coalesce(gpu_uuid, node)))::int "
                                 "FROM outlier GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT $1",
                                 limit)) {
      counts.outliers.push_back({EnumOf<v1::OutlierKind>(row[0]), row[1].as<std::string>(),
                                 row[2].as<bool>(), row[3].as<int>()});
    }
    return counts;
  });
}

Result<std::vector<v1::Incident>> ListIncidents(Pool& pool, const RegressionQuery& query) {
  Condition condition;
  AddState(query, condition);
  if (!query.node_name.empty() || !query.lineage_id.empty()) {
    condition.Add("incident_id IN (SELECT incident_id FROM regression WHERE " +
                  PlaceAndCase(query, condition) + ")");
  }
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result rows,
      pool.Execute("list_incidents",
                   "SELECT content FROM incident WHERE " + condition.text() +
                       " ORDER BY start_time DESC, incident_id DESC LIMIT $2",
                   condition.values(), static_cast<int64_t>(kMaxListedIncidents)));
  return MessagesOf<v1::Incident>(rows);
}

Result<v1::ListOutliersResponse> ListOutliers(Pool& pool, const v1::ListOutliersRequest& request) {
  using Response = v1::ListOutliersResponse;
  return pool.Query("list_outliers", [&](Transaction& transaction) -> Result<Response> {
    Response response;
    const auto outliers = MessagesOf<v1::Outlier>(transaction.exec_params(
        "SELECT content FROM outlier WHERE simulated = $1 AND ($2 = '' OR node @> ARRAY[$2])",
        request.simulated(), request.node_name()));
    std::set<std::string> places;
    for (const v1::Outlier& outlier : outliers) places.insert(PlaceKey(outlier.place()));
    const std::map<std::string, int> counts =
        CountJudged(transaction, request.simulated(), places, response);
    for (v1::Outlier& outlier : MergeOutliers(outliers, counts)) {
      *response.add_outliers() = std::move(outlier);
    }
    if (const auto until = ReadState(transaction).judged_until) {
      *response.mutable_judged_until() = schema::ToTimestamp(*until);
    }
    return response;
  });
}

}  // namespace assay::storage
