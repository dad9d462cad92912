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

// Brings the database to the newest version, each migration in a transaction of
// its own; programs that start together wait for each other. FAILED_PRECONDITION
// if the database is newer than this program, or if a migration applied to it was
// changed since.
Status Migrate(Pool& pool, const std::vector<Migration>& migrations = Migrations());

}  // namespace assay::storage
