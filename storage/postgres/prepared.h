// Prepared statements, which PostgreSQL parses once per connection and need not plan each time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "storage/postgres/pqxx.h"

namespace assay::storage {

// A connection of a Pool, with the names of the statements that are prepared on it.
class Link : public pqxx::connection {
 public:
  using pqxx::connection::connection;

  // Returns the name of the prepared statement `sql`. Prepares it first if this is new.
  const std::string& Prepare(const std::string& sql);

 private:
  std::unordered_map<std::string, std::string> names_;  // By SQL.
};

// Runs `sql` as a prepared statement. `transaction` must come from a Pool. Use this only for the
// few statements that run very often and whose best query plan does not depend on the values.
template <typename... Values>
pqxx::result ExecPrepared(Transaction& transaction, const std::string& sql,
                          const Values&... values) {
  const std::string& name = static_cast<Link&>(transaction.conn()).Prepare(sql);
  return transaction.exec_prepared(name, values...);
}

// Like the function above, for a number of values that is known only at run time.
pqxx::result ExecPrepared(Transaction& transaction, const std::string& sql,
                          const std::vector<std::string>& values);

}  // namespace assay::storage
