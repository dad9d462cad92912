#include "storage/fleet_store.h"

#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

Leader LeaderOf(const pqxx::row& row) {
  return {row["owner"].as<std::string>(), row["address"].as<std::string>(),
          row["term"].as<int64_t>()};
}

class PostgresFleetStore : public FleetStore {
 public:
  explicit PostgresFleetStore(Pool& pool) : pool_(pool) {}

  Result<std::string> GetFleetId() override {
    ASSAY_ASSIGN_OR_RETURN(const pqxx::result rows,
                           pool_.Execute("get_fleet_id", "SELECT fleet_id FROM fleet"));
    if (rows.empty()) {
      return FailedPrecondition("the database has no fleet id", Reason::kDatabaseError)
          .WithHint("has it been migrated?");
    }
    return rows[0][0].as<std::string>();
  }

  Result<Leader> Elect(const std::string& owner, const std::string& address,
                       Duration lease) override {
    return pool_.Query("elect", [&](Transaction& transaction) -> Result<Leader> {
      const pqxx::result elected = transaction.exec_params(
          "UPDATE scheduler SET owner = $1, address = $2, lease_until = now() + $3::interval,"
          "  term = CASE owner WHEN $1 THEN term ELSE term + 1 END "
          "WHERE owner = $1 OR lease_until <= now() RETURNING owner, address, term",
          owner, address, Interval(lease));
      if (!elected.empty()) return LeaderOf(elected[0]);
      // Reads the row again, because another coordinator may have been elected during the UPDATE.
      return LeaderOf(transaction.exec("SELECT owner, address, term FROM scheduler")[0]);
    });
  }

  Status Resign(const std::string& owner) override {
    return pool_
        .Execute("resign", "UPDATE scheduler SET lease_until = '-infinity' WHERE owner = $1", owner)
        .status();
  }

 private:
  Pool& pool_;
};

}  // namespace

std::unique_ptr<FleetStore> MakeFleetStore(Pool& pool) {
  return std::make_unique<PostgresFleetStore>(pool);
}

}  // namespace assay::storage
