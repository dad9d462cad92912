// A bounded pool of connections to one database. Converts pqxx's exceptions to Status.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "common/subprocess.h"
#include "storage/postgres/pqxx.h"
#include "storage/postgres/prepared.h"
#include "storage/postgres/watchdog.h"

namespace assay::storage {

// A callback for metrics, called after each query, on the thread that ran it. `name` is the kind of
// query, such as "claim_jobs", from a small fixed set. `took` includes the time spent waiting for a
// connection.
using QueryObserver = std::function<void(const char* name, Duration took, bool ok)>;

struct PoolStats {
  int in_use = 0;
  int idle = 0;
  int waiting = 0;  // Callers waiting for a connection.
};

// Thread-safe. Connects when a connection is first needed, and again after one broke.
class Pool {
 public:
  // May be called more than once (see Run).
  using Body = std::function<Status(Transaction&)>;

  struct Options {
    int connections = 8;
    // Longest time that a caller waits for a free connection.
    Duration acquire_timeout = std::chrono::seconds(10);
    // The server cancels statements that take longer.
    Duration statement_timeout = std::chrono::seconds(15);
    // The maximum duration of a call, including waiting for a free connection and connecting to the
    // server. Calls that take longer fail with UNAVAILABLE, even if the server hangs.
    Duration call_timeout = std::chrono::seconds(20);
    // If true, the query planner avoids full table scans. Otherwise a statement planned while a
    // table was small would keep scanning the whole table after it has grown.
    bool by_index = false;
    QueryObserver observer;
  };

  // Creates a pool without connecting yet. Returns INVALID_ARGUMENT if `conninfo` is malformed.
  // Unless `conninfo` sets them, adds connect_timeout, tcp_user_timeout and keepalives to detect
  // dead servers, and target_session_attrs=read-write to skip standby servers.
  static Result<std::unique_ptr<Pool>> Create(const std::string& conninfo, Options options);

  // Runs `body` in a transaction and commits it. After a deadlock or a serialization failure,
  // retries, for up to five attempts in total. If `body` returns an error, rolls back and returns
  // that error. The other possible errors are
  // - UNAVAILABLE if the call may succeed later: the database is unreachable, read-only, hung or
  //   out of resources, no connection becomes free in time, or all attempts conflict with others;
  // - INVALID_ARGUMENT if the database rejects the data;
  // - INTERNAL for everything else.
  Status Run(const char* name, const Body& body) {
    return RunTimed(name, body, true, options_.call_timeout);
  }

  // Like Run, but each statement of `body` commits by itself, which saves two round trips.
  Status RunStatement(const char* name, const Body& body) {
    return RunTimed(name, body, false, options_.call_timeout);
  }

  // Like Run, but may take an hour.
  Status RunLong(const char* name, const Body& body) {
    return RunTimed(name, body, true, std::chrono::hours(1));
  }

  // Makes all current and future calls fail with UNAVAILABLE. A call that is still connecting to
  // the server may take up to connect_timeout.
  void Abort();

  // Like Run and RunStatement, for a body that returns a Result. Return its value or an error.
  template <typename F>
  auto Transact(const char* name, const F& body) {
    return Answer(name, body, true);
  }
  template <typename F>
  auto Query(const char* name, const F& body) {
    return Answer(name, body, false);
  }

  // Runs one statement and returns its rows.
  template <typename... Values>
  Result<pqxx::result> Execute(const char* name, const std::string& sql, const Values&... values) {
    return Query(name, [&](Transaction& transaction) -> Result<pqxx::result> {
      return transaction.exec_params(sql, values...);
    });
  }

  // Like Execute, but each connection prepares the statement once; see ExecPrepared.
  template <typename... Values>
  Result<pqxx::result> ExecutePrepared(const char* name, const std::string& sql,
                                       const Values&... values) {
    return Query(name, [&](Transaction& transaction) -> Result<pqxx::result> {
      return ExecPrepared(transaction, sql, values...);
    });
  }

  // Describes the database without credentials: "database assay on /run/assay port 5432".
  const std::string& target() const { return target_; }
  const std::string& conninfo() const { return conninfo_; }
  PoolStats Stats();

 private:
  using Time = Watchdog::Time;

  struct Connection {
    std::unique_ptr<Link> link;  // Null: broken.
    // A duplicate for the watchdog, because libpq closes its own when a connection fails.
    FileDescriptor socket;
  };

  Pool(std::string conninfo, std::string target, Options options);

  template <typename F>
  auto Answer(const char* name, const F& body, bool in_transaction) {
    std::invoke_result_t<const F&, Transaction&> answer = Internal("the query did not run");
    Status status = RunTimed(
        name,
        [&](Transaction& transaction) {
          answer = body(transaction);
          return answer.status();
        },
        in_transaction, options_.call_timeout);
    return status.ok() ? std::move(answer) : decltype(answer)(std::move(status));
  }
  Status RunTimed(const char* name, const Body& body, bool in_transaction, Duration timeout);
  Status RunOn(const Body& body, bool in_transaction, Duration timeout);
  Result<Connection> Acquire(Time deadline);
  void Release(Connection connection);
  Result<Connection> Connect(Time deadline);
  Status AbortedError() const;
  // Returns the error of a call that the watchdog has ended.
  Status EndedError();

  const std::string conninfo_;
  const std::string target_;
  const Options options_;
  Watchdog watchdog_;

  Mutex mutex_;
  bool aborted_ ASSAY_GUARDED_BY(mutex_) = false;
  CondVar released_;
  std::vector<Connection> idle_ ASSAY_GUARDED_BY(mutex_);
  int in_use_ ASSAY_GUARDED_BY(mutex_) = 0;
  int waiting_ ASSAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace assay::storage
