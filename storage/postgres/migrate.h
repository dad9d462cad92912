// Upgrades the schema of a database. The scripts are built into the program.
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

// storage/migrations/[0-9]*.sql in order, from version 1 without gaps.
const std::vector<Migration>& Migrations();

// storage/migrations/views.sql.
const char* ViewsScript();

// Brings the database to the newest version, one transaction per migration, and replaces the views
// if their script has changed. Programs that start together wait for each other.
// FAILED_PRECONDITION if the database is newer than this program, or if a migration was changed
// after it was applied.
Status Migrate(Pool& pool, const std::vector<Migration>& migrations = Migrations());

}  // namespace assay::storage
