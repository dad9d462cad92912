#include "storage/postgres/postgres.h"

#include "storage/postgres/listener.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(std::unique_ptr<Pool> pool)
      : pool_(std::move(pool)),
        jobs_(MakeJobStore(*pool_)),
        nodes_(MakeNodeStore(*pool_)),
        fleet_(MakeFleetStore(*pool_)),
        results_(MakeResultStore(*pool_)) {}

  Status Migrate() override { return storage::Migrate(*pool_); }

  Result<Retired> Retire(const Retention& retention) override {
    return storage::Retire(*pool_, retention);
  }

  JobStore& jobs() override { return *jobs_; }
  NodeStore& nodes() override { return *nodes_; }
  ResultStore& results() override { return *results_; }
  FleetStore& fleet() override { return *fleet_; }

  void Listen(std::function<void()> on_queued) override {
    listener_ =
        std::make_unique<Listener>(pool_->conninfo(), kJobsQueuedChannel, std::move(on_queued));
  }

  void Abort() override { pool_->Abort(); }

  PoolStats Stats() override { return pool_->Stats(); }

 private:
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<NodeStore> nodes_;
  std::unique_ptr<FleetStore> fleet_;
  std::unique_ptr<ResultStore> results_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<Database>> OpenDatabase(const std::string& conninfo,
                                               const DatabaseOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool, Pool::Create(conninfo, options.pool));
  return std::unique_ptr<Database>(std::make_unique<PostgresDatabase>(std::move(pool)));
}

}  // namespace assay::storage
