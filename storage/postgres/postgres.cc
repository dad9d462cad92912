#include "storage/postgres/postgres.h"

#include <algorithm>
#include <utility>

#include "storage/postgres/listener.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

// Equal to the number of threads that the coordinator has for queries of results.
constexpr int kQueryConnections = 2;
constexpr Duration kQueryTimeout = std::chrono::seconds(2);

class PostgresDatabase : public Database {
 public:
  PostgresDatabase(std::unique_ptr<Pool> pool, std::unique_ptr<Pool> queries)
      : pool_(std::move(pool)),
        queries_(std::move(queries)),
        jobs_(MakeJobStore(*pool_)),
        nodes_(MakeNodeStore(*pool_)),
        fleet_(MakeFleetStore(*pool_)),
        results_(MakeResultStore(*pool_, *queries_)),
        work_(MakeWorkStore(*queries_)),
        analysis_(MakeAnalysisStore(*pool_, *queries_)),
        schedules_(MakeScheduleStore(*pool_)),
        identities_(MakeIdentityStore(*pool_)) {}

  Status Migrate() override { return storage::Migrate(*pool_); }

  Result<Retired> Retire(const Retention& retention) override {
    return storage::Retire(*pool_, retention);
  }

  JobStore& jobs() override { return *jobs_; }
  NodeStore& nodes() override { return *nodes_; }
  ResultStore& results() override { return *results_; }
  FleetStore& fleet() override { return *fleet_; }
  WorkStore& work() override { return *work_; }
  AnalysisStore& analysis() override { return *analysis_; }
  ScheduleStore& schedules() override { return *schedules_; }
  IdentityStore& identities() override { return *identities_; }

  void Listen(std::function<void()> on_queued) override {
    listener_ =
        std::make_unique<Listener>(pool_->conninfo(), kJobsQueuedChannel, std::move(on_queued));
  }

  void Abort() override {
    pool_->Abort();
    queries_->Abort();
  }

  PoolStats Stats() override {
    PoolStats stats = pool_->Stats();
    const PoolStats queries = queries_->Stats();
    stats.in_use += queries.in_use;
    stats.idle += queries.idle;
    stats.waiting += queries.waiting;
    return stats;
  }

 private:
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Pool> queries_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<NodeStore> nodes_;
  std::unique_ptr<FleetStore> fleet_;
  std::unique_ptr<ResultStore> results_;
  std::unique_ptr<WorkStore> work_;
  std::unique_ptr<AnalysisStore> analysis_;
  std::unique_ptr<ScheduleStore> schedules_;
  std::unique_ptr<IdentityStore> identities_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<Database>> OpenDatabase(const std::string& conninfo,
                                               const DatabaseOptions& options) {
  Pool::Options lookups = options.pool;
  lookups.by_index = true;
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool, Pool::Create(conninfo, std::move(lookups)));
  Pool::Options queries = options.pool;
  queries.connections = kQueryConnections;
  queries.statement_timeout = std::min(queries.statement_timeout, kQueryTimeout);
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Pool> query_pool,
                         Pool::Create(conninfo, std::move(queries)));
  return std::unique_ptr<Database>(
      std::make_unique<PostgresDatabase>(std::move(pool), std::move(query_pool)));
}

}  // namespace assay::storage
