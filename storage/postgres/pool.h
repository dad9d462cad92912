// A bounded pool of connections to one database. pqxx's exceptions end here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// Told how long each query took, from before a connection is sought until the
// outcome is known, on the thread that made it. `name` is one of a small fixed
// set, such as "claim_jobs".
using QueryObserver = std::function<void(const char* name, Duration took, bool ok)>;

struct PoolStats {
  int in_use = 0;
  int idle = 0;
  int waiting = 0;  // Callers that wait for a connection.
};

// Thread-safe. Connections are made when first needed and again after one breaks.
class Pool {
 public:
  // Called again from the start if the transaction is.
  using Body = std::function<Status(pqxx::transaction_base&)>;

  struct Options {
    int connections = 8;
    // How long a caller waits for a free connection.
    Duration acquire_timeout = std::chrono::seconds(10);
    // The server ends a statement that takes longer.
    Duration statement_timeout = std::chrono::seconds(30);
    QueryObserver observer;
  };

  // INVALID_ARGUMENT if `conninfo` cannot be read; does not connect yet.
  static Result<std::unique_ptr<Pool>> Create(const std::string& conninfo, Options options);

  // Runs `body` in a transaction and commits; again from the start, up to five
  // times, if the server says that transactions got in each other's way. The error
  // of `body` rolls back. Else: UNAVAILABLE if the database cannot be reached or
  // all connections stay busy; INVALID_ARGUMENT for data that it refuses; INTERNAL
  // for anything else that it reports.
  Status Run(const char* name, const Body& body) { return RunTimed(name, body, true); }

  // The same without a transaction around it: each statement of `body` commits by
  // itself, which saves two round trips.
  Status RunStatement(const char* name, const Body& body) { return RunTimed(name, body, false); }

  // "database assay on /run/assay port 5432"; no credentials.
  const std::string& target() const { return target_; }
  const std::string& conninfo() const { return conninfo_; }
  PoolStats Stats();

 private:
  using Connection = std::unique_ptr<pqxx::connection>;

  Pool(std::string conninfo, std::string target, Options options);

  Status RunTimed(const char* name, const Body& body, bool in_transaction);
  Status RunOn(const Body& body, bool in_transaction);
  Result<Connection> Acquire();
  // Null: the connection broke.
  void Release(Connection connection);
  Result<Connection> Connect() const;

  const std::string conninfo_;
  const std::string target_;
  const Options options_;

  Mutex mutex_;
  CondVar released_;
  std::vector<Connection> idle_ ASSAY_GUARDED_BY(mutex_);
  int in_use_ ASSAY_GUARDED_BY(mutex_) = 0;
  int waiting_ ASSAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace assay::storage
