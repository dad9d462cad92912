// Converts findings, baselines and annotations to and from database rows.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "storage/analysis_store.h"
#include "storage/postgres/pqxx.h"
#include "storage/postgres/sql.h"

namespace assay::storage {

// Rows for InsertRows. Absent values are null.
nlohmann::json RowOf(const v1::Regression& regression);
nlohmann::json RowOf(const v1::Incident& incident);
// The outlier must have exactly one case.
nlohmann::json RowOf(const v1::Outlier& outlier);
nlohmann::json RowOf(const Findings::DriverMedian& median);
nlohmann::json RowOf(const Findings::DriverChange& change);
nlohmann::json RowOf(const Findings::CaseCost& cost);
nlohmann::json RowOf(const Findings::NodeFlag& flag);
nlohmann::json RowOf(const v1::Baseline& baseline);
// Returns the row of one case.
nlohmann::json RowOf(const v1::Baseline& baseline, int position);
nlohmann::json RowOf(const v1::Annotation& annotation);

// The rows of one table by key. If several rows have the same key, only the last one is stored.
using Rows = std::map<std::string, nlohmann::json>;

// Inserts rows, which must all have the same columns, and replaces stored rows with the same key.
// `key` lists the table's key columns, and is empty for a table without a key.
Status InsertRows(Transaction& transaction, const std::string& table, const std::string& key,
                  const Rows& rows);

// Reads the column `content`.
template <typename Message>
Message MessageOf(const pqxx::field& content) {
  Message message;
  message.ParseFromString(BytesOf(content));
  return message;
}
template <typename Message>
std::vector<Message> MessagesOf(const pqxx::result& rows) {
  std::vector<Message> messages;
  for (const auto& row : rows) messages.push_back(MessageOf<Message>(row["content"]));
  return messages;
}

// Locks the findings of analyses until the end of the transaction. Transactions that change
// findings must call this first to avoid overwriting each other's changes.
void LockFindings(Transaction& transaction);

int64_t MicrosecondsOf(WallTime time);
// Converts an SQL expression for a number of microseconds since 1970 to an SQL expression for the
// corresponding time.
std::string TimeOfMicroseconds(const std::string& microseconds);

}  // namespace assay::storage
