// The stores in PostgreSQL, and the schema that they need.
#pragma once

#include <memory>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "storage/analysis_store.h"
#include "storage/fleet_store.h"
#include "storage/identity_store.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/postgres/pool.h"
#include "storage/result_store.h"
#include "storage/schedule_store.h"
#include "storage/work_store.h"

namespace assay::storage {

// Transactions that queue jobs notify this channel.
inline constexpr const char* kJobsQueuedChannel = "assay_jobs_queued";

// `pool` must outlive the stores.
std::unique_ptr<JobStore> MakeJobStore(Pool& pool);
std::unique_ptr<NodeStore> MakeNodeStore(Pool& pool);
std::unique_ptr<FleetStore> MakeFleetStore(Pool& pool);
std::unique_ptr<ScheduleStore> MakeScheduleStore(Pool& pool);
std::unique_ptr<IdentityStore> MakeIdentityStore(Pool& pool);
std::unique_ptr<WorkStore> MakeWorkStore(Pool& queries);
// Creates a store for results. If the database rejects a result, for example because of invalid
// UTF-8, ResultStore::Commit reports kConflict for it and stores the others. List and Get may be
// slow, so they use the connections of `queries`.
std::unique_ptr<ResultStore> MakeResultStore(Pool& pool, Pool& queries);

// The time within which transactions that store results should commit. ListChangedLineages can also
// handle slower ones, because it asks PostgreSQL when open transactions began.
inline constexpr Duration kLongestCommit = std::chrono::minutes(1);

// Creates a store for analyses. ListRuns may be slow, so it uses the connections of `queries`.
// ListChangedLineages keeps returning a changed lineage (a group of comparable results) until its
// newest result is older than `overlap`.
std::unique_ptr<AnalysisStore> MakeAnalysisStore(Pool& pool, Pool& queries,
                                                 Duration overlap = kLongestCommit);

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

// Upgrades the database schema to the latest version, with one transaction per migration. Recreates
// the views if their script has changed. Generates the fleet's id. After a restore from a dump of
// another database cluster, adapts the data to this one. If several processes call this
// concurrently, one does the work and the others wait. Returns FAILED_PRECONDITION if the database
// is newer than this program, or if a migration has been modified since it was applied.
Status Migrate(Pool& pool);

}  // namespace assay::storage
