// The stores in PostgreSQL 15 or later.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/postgres/pool.h"
#include "storage/result_store.h"

namespace assay::storage {

struct DatabaseOptions {
  // The stores share these connections. Listen uses another one.
  Pool::Options pool;
};

// One database. Owns its stores. Thread-safe.
class Database {
 public:
  virtual ~Database() = default;

  // Upgrades the schema to this program's version and makes the partitions of the next months. Call
  // before using the stores, and at least monthly.
  virtual Status Migrate() = 0;

  virtual JobStore& jobs() = 0;
  virtual NodeStore& nodes() = 0;
  virtual ResultStore& results() = 0;

  // Calls `on_queued` from a separate thread when any coordinator made jobs claimable, and after
  // each reconnection, because notifications may have been missed. Ends on destruction. Call at
  // most once.
  virtual void Listen(std::function<void()> on_queued) = 0;

  virtual PoolStats Stats() = 0;
};

// Does not connect. INVALID_ARGUMENT if `conninfo` is neither key=value pairs of libpq nor a
// postgresql:// URL.
Result<std::unique_ptr<Database>> OpenDatabase(const std::string& conninfo,
                                               const DatabaseOptions& options = {});

}  // namespace assay::storage
