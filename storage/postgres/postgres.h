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
  // Connections that stores share; Listen has one of its own.
  Pool::Options pool;
};

// One database and its stores. Thread-safe. The stores end with it.
class Database {
 public:
  virtual ~Database() = default;

  // Brings the schema to this program's version and makes the partitions of the
  // next months. Call before the stores are used, and now and then afterwards.
  virtual Status Migrate() = 0;

  virtual JobStore& jobs() = 0;
  virtual NodeStore& nodes() = 0;
  virtual ResultStore& results() = 0;

  // Calls `on_queued` on a thread of its own when jobs became claimable, wherever
  // that happened, and once whenever its connection was made anew, since some may
  // have been missed meanwhile. Until destruction; call at most once.
  virtual void Listen(std::function<void()> on_queued) = 0;

  virtual PoolStats Stats() = 0;
};

// Does not connect yet; INVALID_ARGUMENT if `conninfo` (libpq's key=value form or
// postgresql:// URL) cannot be read.
Result<std::unique_ptr<Database>> OpenDatabase(const std::string& conninfo,
                                               const DatabaseOptions& options = {});

}  // namespace assay::storage
