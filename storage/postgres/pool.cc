#include "storage/postgres/pool.h"

#include <fcntl.h>
#include <libpq-fe.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <random>
#include <thread>

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

bool HasPrefix(const std::string& state, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return state.starts_with(prefix); });
}

Outcome CannotNow(const std::exception& error) {
  return {Unavailable("the database cannot do this now: " + FirstLine(error.what()),
                      Reason::kDatabaseError),
          false, false};
}

// Converts an error by its SQLSTATE; see PostgreSQL's appendix of error codes.
Outcome FromSqlError(const pqxx::sql_error& error) {
  const std::string state = error.sqlstate();
  const std::string message = FirstLine(error.what());
  // The server is read-only or shutting down, the connection failed, or there are too many
  // connections. Drop the connection, because another server may have become the primary.
  if (HasPrefix(state, {"25006", "57P", "08", "53300"})) {
    return {Unavailable("the database is going away: " + message, Reason::kDatabaseUnavailable),
            false, true};
  }
  if (state == "57014") {
    return {Unavailable("the database took too long: " + message, Reason::kStatementTimeout), false,
            false};
  }
  // Out of memory or disk; I/O error; lock timeout.
  if (HasPrefix(state, {"53", "58", "55P03"})) return CannotNow(error);
  if (HasPrefix(state, {"22", "54"})) {
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
  } catch (const pqxx::transaction_rollback& error) {  // Serialization failure, deadlock.
    return {Unavailable("the transaction collides with others: " + FirstLine(error.what()),
                        Reason::kTransactionConflict),
            true, false};
  } catch (const pqxx::insufficient_privilege& error) {  // As after a restore without grants.
    return CannotNow(error);
  } catch (const pqxx::sql_error& error) {
    if (!connection.is_open()) return lost(error);
    return FromSqlError(error);
  } catch (const std::exception& error) {
    if (!connection.is_open()) return lost(error);
    return {Internal(std::string("database: ") + FirstLine(error.what()), Reason::kDatabaseError),
            false, true};
  }
}

using ConnectionOptions = std::map<std::string, std::string>;

Result<ConnectionOptions> ParseConnectionString(const std::string& conninfo) {
  char* message = nullptr;
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), &message);
  if (options == nullptr) {
    PQfreemem(message);  // May quote the password.
    return InvalidArgument(
        "the database address cannot be read; it looks like "
        "\"postgresql://user@host:5432/assay\" or \"host=... dbname=...\"",
        Reason::kBadDatabaseAddress);
  }
  ConnectionOptions values;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) values[option->keyword] = option->val;
  }
  PQconninfoFree(options);
  return values;
}

// Returns a description without the password.
std::string Describe(const ConnectionOptions& options) {
  const auto or_default = [&](const char* key, const char* fallback) {
    const auto it = options.find(key);
    return it != options.end() ? it->second : std::string(fallback);
  };
  return "database " + or_default("dbname", "(default)") + " on " +
         or_default("host", "the local socket") + " port " + or_default("port", "5432");
}

// Returns a connection string with the options, and the defaults of Pool::Create.
std::string Complete(ConnectionOptions options) {
  options.insert({{"connect_timeout", "3"},
                  {"tcp_user_timeout", "10000"},
                  {"keepalives_idle", "5"},
                  {"keepalives_interval", "5"},
                  {"keepalives_count", "2"},
                  {"target_session_attrs", "read-write"}});
  std::string text;
  for (const auto& [key, value] : options) {
    text += key + "='";
    for (const char c : value) {
      if (c == '\'' || c == '\\') text.push_back('\\');
      text.push_back(c);
    }
    text += "' ";
  }
  return text;
}

// Waits before retrying a transaction that conflicted with another one. The delay is random, so
// that the two are unlikely to conflict again.
void BackOff(int attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int most = 20 << attempt;
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::uniform_int_distribution<int>(1, most)(random)));
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::Create(const std::string& conninfo, Options options) {
  ASSAY_ASSIGN_OR_RETURN(const ConnectionOptions parsed, ParseConnectionString(conninfo));
  if (options.connections < 1) return InvalidArgument("a pool needs at least one connection");
  return std::unique_ptr<Pool>(new Pool(Complete(parsed), Describe(parsed), std::move(options)));
}

Pool::Pool(std::string conninfo, std::string target, Options options)
    : conninfo_(std::move(conninfo)), target_(std::move(target)), options_(std::move(options)) {}

Status Pool::RunTimed(const char* name, const Body& body, bool in_transaction, Duration timeout) {
  const auto begin = std::chrono::steady_clock::now();
  Status status = RunOn(body, in_transaction, timeout);
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

Status Pool::RunOn(const Body& body, bool in_transaction, Duration timeout) {
  const Time deadline = std::chrono::steady_clock::now() + timeout;
  ASSAY_ASSIGN_OR_RETURN(Connection connection, Acquire(deadline));
  Outcome outcome;
  {
    const Watchdog::Watch watch(watchdog_, connection.socket.get(), deadline);
    for (int attempt = 1;; ++attempt) {
      outcome = Attempt(*connection.link, target_, body, in_transaction);
      if (!outcome.again || attempt == kAttempts || watch.Ended()) break;
      BackOff(attempt);
    }
    if (watch.Ended()) {
      // The watchdog has shut down the connection, because the call took too long or the pool was
      // aborted. If the call completed just before that, keep its result.
      outcome.broken = true;
      if (outcome.status.code() == Code::kUnavailable) {
        outcome.status = EndedError();
      }
    }
  }
  if (outcome.broken) connection.link = nullptr;
  Release(std::move(connection));
  return outcome.status;
}

void Pool::Abort() {
  watchdog_.Abort();
  MutexLock lock(mutex_);
  aborted_ = true;
  released_.NotifyAll();
}

Status Pool::EndedError() {
  MutexLock lock(mutex_);
  return aborted_ ? AbortedError()
                  : Unavailable(target_ + " did not answer in time", Reason::kDatabaseUnavailable);
}

Status Pool::AbortedError() const {
  return Unavailable("this process is ending its use of " + target_, Reason::kDatabaseUnavailable);
}

Result<Pool::Connection> Pool::Acquire(Time deadline) {
  const Time patience =
      std::min(deadline, std::chrono::steady_clock::now() + options_.acquire_timeout);
  {
    MutexLock lock(mutex_);
    ++waiting_;
    bool woken = true;
    while (in_use_ >= options_.connections && woken && !aborted_) {
      woken = released_.WaitUntil(mutex_, patience);
    }
    --waiting_;
    if (aborted_) return AbortedError();
    if (in_use_ >= options_.connections) {
      return Unavailable("all " + std::to_string(options_.connections) + " connections to " +
                             target_ + " stayed busy",
                         Reason::kDatabaseBusy);
    }
    ++in_use_;
    if (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection.link->is_open()) return connection;
    }
  }
  auto connection = Connect(deadline);
  if (!connection.ok()) Release({});
  return connection;
}

void Pool::Release(Connection connection) {
  MutexLock lock(mutex_);
  --in_use_;
  if (connection.link != nullptr) {
    idle_.push_back(std::move(connection));
  } else {
    idle_.clear();  // The other connections went to the same server and are probably broken too.
  }
  released_.NotifyOne();
}

Result<Pool::Connection> Pool::Connect(Time deadline) {
  try {
    Connection connection;
    connection.link = std::make_unique<Link>(conninfo_);
    connection.socket = FileDescriptor(::fcntl(connection.link->sock(), F_DUPFD_CLOEXEC, 0));
#if PQXX_VERSION_MAJOR < 7
    // Disable libpqxx's automatic reconnection, which would create connections with neither the
    // settings below nor a watchdog.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection.link->inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
    const Watchdog::Watch watch(watchdog_, connection.socket.get(), deadline);
    pqxx::nontransaction setup(*connection.link);
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.statement_timeout);
    setup.exec("SET statement_timeout = " + std::to_string(timeout.count()) +
               ";SET TIME ZONE 'GMT';SET client_min_messages = warning;SET jit = off;"
               "SET enable_seqscan = " +
               (options_.by_index ? "off" : "on"));
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
