#include "common/digest.h"
#include "common/log.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

// Compares the migrations that the database has with those of this program.
Status CheckApplied(const pqxx::result& applied, const std::string& target) {
  const std::vector<Migration>& migrations = Migrations();
  for (const auto& row : applied) {
    const int version = row[0].as<int>();
    if (version > static_cast<int>(migrations.size())) {
      return FailedPrecondition(target + " has schema version " + std::to_string(version) +
                                    ", but this program knows versions up to " +
                                    std::to_string(migrations.size()),
                                Reason::kDatabaseTooNew)
          .WithHint("use a program at least as new as the one that upgraded the database");
    }
    const Migration& migration = migrations[static_cast<size_t>(version) - 1];
    if (row[1].as<std::string>() != Sha256Hex(migration.sql)) {
      return FailedPrecondition(target + " was built by another " + std::string(migration.name) +
                                    " than this program's",
                                Reason::kMigrationChanged)
          .WithHint("a released migration never changes; write a new one instead");
    }
  }
  return Status::Ok();
}

// Replaces the views if their script has changed. The checksum of this script is stored in the
// table schema_migration as version 0.
void ReplaceViews(Transaction& transaction) {
  const pqxx::result changed = transaction.exec_params(
      "INSERT INTO schema_migration (version, name, checksum) VALUES (0, 'views', $1) "
      "ON CONFLICT (version) DO UPDATE SET checksum = $1, apply_time = now() "
      "WHERE schema_migration.checksum <> $1 RETURNING 1",
      Sha256Hex(ViewsScript()));
  if (!changed.empty()) transaction.exec(ViewsScript());
}

// Identifies this database in this cluster.
constexpr char kPlace[] =
    "(SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database"
    "  WHERE datname = current_database())";

// The number that is added to epochs after a restore. No job has as many attempts.
constexpr int kEpochJump = 1000;

// Creates the row of the table "fleet" if it is missing. If the row names another database cluster,
// this database was restored from a dump of that cluster. In that case, corrects two things:
// - Job revisions are transaction ids of the old cluster. Resets those that are too high for this
//   one, because their jobs would otherwise appear changed forever.
// - Increases epochs (numbers of attempts), because agents may know attempts that began after the
//   dump was made.
void PrepareFleet(Transaction& transaction) {
  transaction.exec(std::string("INSERT INTO fleet SELECT gen_random_uuid(), ") + kPlace +
                   " WHERE NOT EXISTS (SELECT FROM fleet)");
  const pqxx::result restored = transaction.exec(std::string("UPDATE fleet SET place = ") + kPlace +
                                                 " WHERE place <> " + kPlace + " RETURNING 1");
  if (restored.empty()) return;
  const pqxx::result reset = transaction.exec(
      "UPDATE job SET revision = 0 WHERE revision > pg_current_xact_id()::text::bigint");
  transaction.exec("UPDATE job SET epoch = epoch + " + std::to_string(kEpochJump) +
                   " WHERE state = 'queued'");
  // Rerun the script that creates the views, because a dump does not contain the role to which they
  // are granted, and may lack the grants.
  transaction.exec(ViewsScript());
  Log().info("this database was restored from a dump; reset the revisions of {} jobs",
             reset.affected_rows());
}

}  // namespace

Status Migrate(Pool& pool) {
  const std::vector<Migration>& migrations = Migrations();
  bool finished = false;
  while (!finished) {
    ASSAY_RETURN_IF_ERROR(pool.RunLong("migrate", [&](Transaction& transaction) {
      transaction.exec("SET LOCAL statement_timeout = 0");
      transaction.exec("SELECT pg_advisory_xact_lock(7900, 0)");
      transaction.exec(
          "CREATE TABLE IF NOT EXISTS schema_migration (version int PRIMARY KEY, name text NOT "
          "NULL, checksum text NOT NULL, apply_time timestamptz NOT NULL DEFAULT now())");
      const pqxx::result applied = transaction.exec(
          "SELECT version, checksum FROM schema_migration WHERE version <> 0 ORDER BY version");
      ASSAY_RETURN_IF_ERROR(CheckApplied(applied, pool.target()));
      const auto next = static_cast<size_t>(applied.size());
      finished = next == migrations.size();
      if (finished) {
        ReplaceViews(transaction);
        PrepareFleet(transaction);
        return Status::Ok();
      }
      const Migration& migration = migrations[next];
      transaction.exec(migration.sql);
      transaction.exec_params(
          "INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)",
          migration.version, std::string(migration.name), Sha256Hex(migration.sql));
      Log().info("{}: applied migration {}", pool.target(), migration.name);
      return Status::Ok();
    }));
  }
  return pool.Run("create_partitions", [](Transaction& transaction) {
    transaction.exec("SELECT assay_create_partitions(3)");
    return Status::Ok();
  });
}

}  // namespace assay::storage
