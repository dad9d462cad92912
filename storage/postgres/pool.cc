#include "storage/postgres/pool.h"

#include <libpq-fe.h>

#include <map>

namespace assay::storage {
namespace {

constexpr int kAttempts = 5;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Result of one attempt.
struct Outcome {
  Status status;
  bool again = false;   // The server asks for a retry of the transaction.
  bool broken = false;  // The connection cannot be used any more.
};

Outcome FromSqlError(const pqxx::sql_error& error) {
  const std::string state = error.sqlstate();
  const std::string message = FirstLine(error.what());
  if (state == "40001" || state == "40P01") {
    return {Status(Code::kAborted, Reason::kTransactionConflict, message), true, false};
  }
  if (state.starts_with("57P") || state.starts_with("08") || state == "53300") {
    return {Unavailable("the database is going away: " + message, Reason::kDatabaseUnavailable),
            false, true};
  }
  if (state == "57014") {
    return {Status(Code::kDeadlineExceeded, Reason::kStatementTimeout,
                   "the database took too long: " + message),
            false, false};
  }
  if (state.starts_with("22")) {
    return {InvalidArgument("the database refuses a value: " + message, Reason::kBadValue), false,
            false};
  }
  if (state == "23514") {
    return {Status(Code::kOutOfRange, Reason::kNoPartition, message), false, false};
  }
  return {Internal("database error " + state + ": " + message, Reason::kDatabaseError), false,
          false};
}

Outcome Attempt(pqxx::connection& connection, const std::string& target, const Pool::Body& body,
                bool in_transaction) {
  const auto lost = [&](const std::exception& error) {
    return Outcome{Unavailable("lost the connection to " + target + ": " + FirstLine(error.what()),
                               Reason::kDatabaseUnavailable),
                   false, true};
  };
  try {
    if (!in_transaction) {
      pqxx::nontransaction statements(connection);
      return {body(statements), false, false};
    }
    pqxx::work transaction(connection);
    Status status = body(transaction);
    if (status.ok()) transaction.commit();
    return {std::move(status), false, false};
  } catch (const pqxx::broken_connection& error) {
    return lost(error);
  } catch (const pqxx::in_doubt_error& error) {
    return lost(error);
  } catch (const pqxx::sql_error& error) {
    if (!connection.is_open()) return lost(error);
    return FromSqlError(error);
  } catch (const std::exception& error) {
    if (!connection.is_open()) return lost(error);
    return {Internal(std::string("database: ") + FirstLine(error.what()), Reason::kDatabaseError),
            false, true};
  }
}

// Reads a connection string. The target contains no password.
Result<std::string> Describe(const std::string& conninfo) {
  char* message = nullptr;
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), &message);
  if (options == nullptr) {
    PQfreemem(message);  // May quote the password.
    return InvalidArgument(
        "the database address cannot be read; it looks like "
        "\"postgresql://user@host:5432/assay\" or \"host=... dbname=...\"",
        Reason::kBadDatabaseAddress);
  }
  std::map<std::string, std::string> values;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) values[option->keyword] = option->val;
  }
  PQconninfoFree(options);
  const auto or_default = [&](const char* key, const char* fallback) {
    return values.contains(key) ? values[key] : std::string(fallback);
  };
  return "database " + or_default("dbname", "(default)") + " on " +
         or_default("host", "the local socket") + " port " + or_default("port", "5432");
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::Create(const std::string& conninfo, Options options) {
  ASSAY_ASSIGN_OR_RETURN(std::string target, Describe(conninfo));
  if (options.connections < 1) return InvalidArgument("a pool needs at least one connection");
  return std::unique_ptr<Pool>(new Pool(conninfo, std::move(target), std::move(options)));
}

Pool::Pool(std::string conninfo, std::string target, Options options)
    : conninfo_(std::move(conninfo)), target_(std::move(target)), options_(std::move(options)) {}

Status Pool::RunTimed(const char* name, const Body& body, bool in_transaction) {
  const auto begin = std::chrono::steady_clock::now();
  Status status = RunOn(body, in_transaction);
  if (options_.observer) {
    options_.observer(name, std::chrono::steady_clock::now() - begin, status.ok());
  }
  switch (status.code()) {
    // These messages need no context, because they repeat what the caller passed.
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
      return status;
    default:
      return status.WithContext(name);
  }
}

Status Pool::RunOn(const Body& body, bool in_transaction) {
  ASSAY_ASSIGN_OR_RETURN(Connection connection, Acquire());
  Outcome outcome;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    outcome = Attempt(*connection, target_, body, in_transaction);
    if (!outcome.again) break;
  }
  if (outcome.broken) connection.reset();
  Release(std::move(connection));
  return outcome.status;
}

Result<Pool::Connection> Pool::Acquire() {
  const auto deadline = std::chrono::steady_clock::now() + options_.acquire_timeout;
  {
    MutexLock lock(mutex_);
    ++waiting_;
    bool woken = true;
    while (in_use_ >= options_.connections && woken) woken = released_.WaitUntil(mutex_, deadline);
    --waiting_;
    if (in_use_ >= options_.connections) {
      return Unavailable("all " + std::to_string(options_.connections) + " connections to " +
                             target_ + " stayed busy",
                         Reason::kDatabaseBusy);
    }
    ++in_use_;
    if (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->is_open()) return connection;
    }
  }
  auto connection = Connect();
  if (!connection.ok()) Release(nullptr);
  return connection;
}

void Pool::Release(Connection connection) {
  MutexLock lock(mutex_);
  --in_use_;
  if (connection != nullptr) {
    idle_.push_back(std::move(connection));
  } else {
    idle_.clear();  // The other connections went to the same server and are probably broken too.
  }
  released_.NotifyOne();
}

Result<Pool::Connection> Pool::Connect() const {
  try {
    auto connection = std::make_unique<pqxx::connection>(conninfo_);
    pqxx::nontransaction setup(*connection);
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.statement_timeout);
    setup.exec("SET statement_timeout = " + std::to_string(timeout.count()));
    setup.exec("SET TIME ZONE 'UTC'");
    setup.exec("SET client_min_messages = warning");
    return connection;
  } catch (const std::exception& error) {
    return Unavailable("cannot reach " + target_ + ": " + FirstLine(error.what()),
                       Reason::kDatabaseUnavailable);
  }
}

PoolStats Pool::Stats() {
  MutexLock lock(mutex_);
  return {in_use_, static_cast<int>(idle_.size()), waiting_};
}

}  // namespace assay::storage
