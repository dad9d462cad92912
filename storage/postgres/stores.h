// The stores in PostgreSQL, and the schema that they need.
#pragma once

#include <memory>
#include <vector>

#include "common/status.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/postgres/pool.h"
#include "storage/result_store.h"

namespace assay::storage {

// Transactions that queue jobs notify this channel.
inline constexpr const char* kJobsQueuedChannel = "assay_jobs_queued";

// `pool` must outlive the stores.
std::unique_ptr<JobStore> MakeJobStore(Pool& pool);
std::unique_ptr<NodeStore> MakeNodeStore(Pool& pool);
// Its Commit reports kConflict for a result that the database refuses, such as a text that is not
// UTF-8, and stores the other results.
std::unique_ptr<ResultStore> MakeResultStore(Pool& pool);

// One script of storage/migrations. The scripts are built into the program.
struct Migration {
  int version = 0;
  const char* name = "";
  const char* sql = "";
};

// Returns storage/migrations/[0-9]*.sql in order, from version 1 without gaps.
const std::vector<Migration>& Migrations();

// Returns storage/migrations/views.sql.
const char* ViewsScript();

// Brings the database to the newest version, one transaction per migration, and replaces the views
// if their script has changed. Programs that start together wait for each other.
// FAILED_PRECONDITION if the database is newer than this program, or if a migration was changed
// after it was applied.
Status Migrate(Pool& pool);

}  // namespace assay::storage
