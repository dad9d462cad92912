// The stores in PostgreSQL 15 or later.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "storage/analysis_store.h"
#include "storage/fleet_store.h"
#include "storage/identity_store.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/postgres/pool.h"
#include "storage/postgres/retention.h"
#include "storage/result_store.h"
#include "storage/schedule_store.h"
#include "storage/work_store.h"

namespace assay::storage {

struct DatabaseOptions {
  // Settings of the connections shared by the stores. Listen uses one additional connection.
  // Methods that may be slow, such as ResultStore::List, share two more connections, on which
  // statements are cancelled after 2 s.
  Pool::Options pool;
};

// One database. Owns its stores. Thread-safe.
class Database {
 public:
  virtual ~Database() = default;

  // Upgrades the database schema to this program's version and creates the table partitions for the
  // coming months. Call this before using the stores, and at least once a month thereafter.
  virtual Status Migrate() = 0;

  // See storage::Retire.
  virtual Result<Retired> Retire(const Retention& retention) = 0;

  virtual JobStore& jobs() = 0;
  virtual NodeStore& nodes() = 0;
  virtual ResultStore& results() = 0;
  virtual FleetStore& fleet() = 0;
  virtual WorkStore& work() = 0;
  virtual AnalysisStore& analysis() = 0;
  virtual ScheduleStore& schedules() = 0;
  virtual IdentityStore& identities() = 0;

  // Starts a thread that calls `on_queued` whenever a coordinator has added jobs to the queue, and
  // whenever it has reconnected to the database, because it may have missed notifications. The
  // destructor stops the thread. Call Listen at most once.
  virtual void Listen(std::function<void()> on_queued) = 0;

  // Makes all current and future calls of the stores fail with UNAVAILABLE. They fail immediately,
  // except that calls still connecting may take up to connect_timeout. Call this before the process
  // exits, so that a hung database cannot block shutdown.
  virtual void Abort() = 0;

  // Includes the connections of ResultStore::List and Get.
  virtual PoolStats Stats() = 0;
};

// Creates a Database object without connecting yet. Returns INVALID_ARGUMENT if `conninfo` is
// neither a libpq list of key=value pairs nor a postgresql:// URL.
Result<std::unique_ptr<Database>> OpenDatabase(const std::string& conninfo,
                                               const DatabaseOptions& options = {});

}  // namespace assay::storage
