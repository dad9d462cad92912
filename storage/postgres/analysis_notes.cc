#include <nlohmann/json.hpp>
#include <utility>

#include "storage/analysis_rules.h"
#include "storage/postgres/analysis_queries.h"
#include "storage/postgres/analysis_rows.h"
#include "storage/store_rules.h"

namespace assay::storage {
namespace {

// If a name is unknown, a similar name is searched among this many of the newest baselines.
constexpr int kOfferedBaselines = 1000;

}  // namespace

Result<int> Acknowledge(Pool& pool, const std::string& id, const std::string& by,
                        const std::string& note, bool false_alarm) {
  ASSAY_RETURN_IF_ERROR(CheckIdPrefix(id));
  return pool.Transact("acknowledge", [&](Transaction& transaction) -> Result<int> {
    LockFindings(transaction);
    const std::vector<std::string> ids = FirstTexts(transaction.exec_params(
        "SELECT incident_id AS id FROM incident WHERE starts_with(incident_id, $1) "
        "UNION SELECT regression_id FROM regression WHERE starts_with(regression_id, $1) "
        "ORDER BY id LIMIT 10",
        id));
    ASSAY_ASSIGN_OR_RETURN(const size_t index, OnlyId(id, ids));
    Rows incidents, regressions;
    for (v1::Incident& incident : MessagesOf<v1::Incident>(transaction.exec_params(
             "SELECT content FROM incident WHERE incident_id = $1", ids[index]))) {
      Acknowledge(incident);
      incidents[incident.incident_id()] = RowOf(incident);
    }
    for (v1::Regression& regression : MessagesOf<v1::Regression>(transaction.exec_params(
             "SELECT content FROM regression WHERE regression_id = $1 OR incident_id = $1",
             ids[index]))) {
      Acknowledge(by, note, false_alarm, regression);
      regressions[regression.regression_id()] = RowOf(regression);
    }
    ASSAY_RETURN_IF_ERROR(InsertRows(transaction, "incident", "incident_id", incidents));
    ASSAY_RETURN_IF_ERROR(InsertRows(transaction, "regression", "regression_id", regressions));
    return static_cast<int>(regressions.size());
  });
}

Status PutBaseline(Pool& pool, const v1::Baseline& baseline) {
  return pool.Run("put_baseline", [&](Transaction& transaction) -> Status {
    ASSAY_RETURN_IF_ERROR(
        InsertRows(transaction, "baseline", "name", {{baseline.name(), RowOf(baseline)}}));
    transaction.exec_params("DELETE FROM baseline_case WHERE name = $1", baseline.name());
    Rows cases;
    for (int i = 0; i < baseline.cases_size(); ++i) {
      cases[std::to_string(i)] = RowOf(baseline, i);
    }
    return InsertRows(transaction, "baseline_case", "", cases);
  });
}

Result<std::vector<v1::Baseline>> ListBaselines(Pool& pool) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result rows,
      pool.Execute("list_baselines", "SELECT content FROM baseline ORDER BY name"));
  return MessagesOf<v1::Baseline>(rows);
}

Result<v1::Baseline> GetBaseline(Pool& pool, const std::string& name) {
  return pool.Transact("get_baseline", [&](Transaction& transaction) -> Result<v1::Baseline> {
    // The lock keeps the cases from being replaced in between.
    const pqxx::result found =
        transaction.exec_params("SELECT content FROM baseline WHERE name = $1 FOR SHARE", name);
    if (found.empty()) {
      return NoSuch(
          "baseline", name,
          FirstTexts(transaction.exec_params(
              "SELECT name FROM baseline ORDER BY create_time DESC LIMIT $1", kOfferedBaselines)));
    }
    v1::Baseline baseline = MessageOf<v1::Baseline>(found[0][0]);
    for (v1::BaselineCase& one : MessagesOf<v1::BaselineCase>(transaction.exec_params(
             "SELECT content FROM baseline_case WHERE name = $1 ORDER BY position", name))) {
      *baseline.add_cases() = std::move(one);
    }
    return baseline;
  });
}

Status PutAnnotation(Pool& pool, const v1::Annotation& annotation) {
  return pool.RunStatement("put_annotation", [&](Transaction& transaction) {
    return InsertRows(transaction, "annotation", "annotation_id",
                      {{annotation.annotation_id(), RowOf(annotation)}});
  });
}

Result<std::vector<v1::Annotation>> ListAnnotations(Pool& pool, WallTime from, WallTime to) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result rows,
      pool.Execute("list_annotations",
                   "SELECT content FROM (SELECT * FROM annotation WHERE \"time\" BETWEEN " +
                       TimeOfMicroseconds("$1") + " AND " + TimeOfMicroseconds("$2") +
                       " ORDER BY \"time\" DESC, annotation_id DESC LIMIT $3) n "
                       "ORDER BY \"time\", annotation_id",
                   MicrosecondsOf(from), MicrosecondsOf(to),
                   static_cast<int64_t>(kMaxListedAnnotations)));
  return MessagesOf<v1::Annotation>(rows);
}

}  // namespace assay::storage
