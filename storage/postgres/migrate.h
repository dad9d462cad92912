// The schema's versions, built into the program, and how a database gets to the
// newest.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/postgres/pool.h"

namespace assay::storage {

struct Migration {
  int version = 0;
  const char* name = "";
  const char* sql = "";
};

// storage/migrations/*.sql in order, from version 1 without gaps.
const std::vector<Migration>& Migrations();

// storage/migrations/views.sql.
const char* ViewsScript();

// Brings the database to the newest version, one transaction per migration, and replaces the views
// if their script has changed. Programs that start together wait for each other. FAILED_PRECONDITION
// if the database is newer than this program, or if a migration was changed after it was applied.
Status Migrate(Pool& pool, const std::vector<Migration>& migrations = Migrations());

}  // namespace assay::storage
