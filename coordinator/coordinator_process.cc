#include "coordinator/coordinator_process.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/log.h"
#include "common/mutex.h"
#include "common/uuid.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/rpc/server.h"
#include "http/metrics_server.h"
#include "storage/postgres/postgres.h"

namespace assay::coordinator {
namespace {

constexpr int kExecutorThreads = 4;
constexpr int kDatabaseConnections = 6;
constexpr Duration kDatabasePatience = std::chrono::seconds(30);
constexpr Duration kDatabaseRetry = std::chrono::seconds(1);
constexpr Duration kShutdownPatience = std::chrono::seconds(2);
constexpr Duration kGaugePeriod = std::chrono::seconds(5);
// Partitions are created long before they are needed.
constexpr Duration kMigratePeriod = std::chrono::hours(6);

Status MigrateWithPatience(storage::Database& database, CoordinatorProcess::Wait wait) {
  Clock& clock = Clock::Real();
  const MonotonicTime deadline = clock.Now() + kDatabasePatience;
  for (bool said = false;;) {
    const Status migrated = database.Migrate();
    if (migrated.code() != Code::kUnavailable) return migrated;
    if (clock.Now() >= deadline) {
      return migrated.WithContext("gave up on the database after 30 s")
          .WithHint("is PostgreSQL running, and is ASSAY_DATABASE right?");
    }
    if (!std::exchange(said, true)) {
      Log().warn("the database is away; trying for 30 s: {}", migrated.message());
    }
    if (!wait(kDatabaseRetry))
      return Status(Code::kCancelled, Reason::kInterrupted, "ended by a signal");
  }
}

}  // namespace

class CoordinatorProcess::Impl {
 public:
  ~Impl() {
    {
      MutexLock lock(gate_mutex_);
      open_ = false;
    }
    http_ = nullptr;
    if (server_) server_->Shutdown(kShutdownPatience);
    // Tasks end before the objects that they use.
    executor_ = nullptr;
  }

  Status Start(const CoordinatorOptions& options, Wait wait) {
    storage::DatabaseOptions database_options;
    database_options.pool.connections = kDatabaseConnections;
    database_options.pool.observer = [this](const char* name, Duration took, bool) {
      metrics_.QueryEnded(name, took);
    };
    ASSAY_ASSIGN_OR_RETURN(database_, storage::OpenDatabase(options.database, database_options));
    ASSAY_RETURN_IF_ERROR(MigrateWithPatience(*database_, wait));

    executor_ = NewThreadPool(kExecutorThreads, "coordinator");
    Options core;
    core.coordinator_id = NewUuid();
    core.lease = options.lease;
    core.heartbeat = options.heartbeat;
    core.poll = std::min<Duration>(core.poll, options.lease / 3);
    const Environment environment{Clock::Real(),        *executor_,         database_->jobs(),
                                  database_->results(), database_->nodes(), metrics_};
    coordinator_ = std::make_unique<Coordinator>(environment, core);
    ASSAY_RETURN_IF_ERROR(Serve(options));
    coordinator_->Start();
    database_->Listen([this] {
      MutexLock lock(gate_mutex_);
      if (open_) coordinator_->OnNotification();
    });
    RefreshGauges();
    MigrateLater();
    return DialKnown();
  }

  std::string ReadyLine() const {
    nlohmann::json line = {{"grpc", server_->address().ToString()}};
    if (http_) line["http"] = http_->address().ToString();
    return line.dump();
  }

 private:
  Status Serve(const CoordinatorOptions& options) {
    rpc::ServerOptions server;
    server.listen = options.listen;
    server.tls = options.tls;
    server.agent_tls = options.agent_tls;
    server.insecure = options.insecure;
    server.counter = [this](const char* method, Code code) { metrics_.CallEnded(method, code); };
    ASSAY_ASSIGN_OR_RETURN(server_, rpc::Server::Start(*coordinator_, std::move(server)));
    Log().info("gRPC on {}", server_->address().ToString());
    if (!options.http) return Status::Ok();
    http::MetricsServerOptions http;
    http.address = *options.http;
    http.collectables = {metrics_.collectable()};
    http.handlers = {{"/sd", "application/json", [this] {
                        MutexLock lock(discovery_mutex_);
                        return discovery_;
                      }}};
    ASSAY_ASSIGN_OR_RETURN(http_, http::MetricsServer::Start(std::move(http)));
    Log().info("metrics on http://{}/metrics", http_->address().ToString());
    return Status::Ok();
  }

  // Dial the agents that were added before this process started.
  Status DialKnown() {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                           database_->nodes().ListDialAddresses());
    for (const std::string& address : addresses) {
      const Status dialled = server_->dialer().Dial(address);
      if (!dialled.ok()) Log().error("cannot dial {}: {}", address, dialled.ToString());
    }
    return Status::Ok();
  }

  // State outside this process is read at intervals, not at every scrape.
  void RefreshGauges() {
    if (const auto queue = database_->jobs().GetQueueStats(); queue.ok()) metrics_.SetQueue(*queue);
    if (const auto nodes = database_->nodes().ListNodes(coordinator_->options().lease);
        nodes.ok()) {
      metrics_.SetNodes(*nodes);
      MutexLock lock(discovery_mutex_);
      discovery_ = ServiceDiscovery(*nodes);
    }
    const storage::PoolStats pool = database_->Stats();
    metrics_.SetPool({pool.in_use, pool.idle, pool.waiting});
    executor_->PostAfter(kGaugePeriod, [this] { RefreshGauges(); });
  }

  void MigrateLater() {
    executor_->PostAfter(kMigratePeriod, [this] {
      if (const Status migrated = database_->Migrate(); !migrated.ok()) {
        Log().warn("the partitions of the next months could not be made: {}", migrated.ToString());
      }
      MigrateLater();
    });
  }

  // Destroyed in reverse order: users before the objects that they use.
  Metrics metrics_;
  Mutex gate_mutex_;
  bool open_ ASSAY_GUARDED_BY(gate_mutex_) = true;  // Notifications may be forwarded.
  Mutex discovery_mutex_;
  std::string discovery_ ASSAY_GUARDED_BY(discovery_mutex_) = "[]";
  std::unique_ptr<storage::Database> database_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<http::MetricsServer> http_;
};

CoordinatorProcess::CoordinatorProcess() : impl_(std::make_unique<Impl>()) {}
CoordinatorProcess::~CoordinatorProcess() = default;

Result<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::Start(
    const CoordinatorOptions& options, Wait wait) {
  std::unique_ptr<CoordinatorProcess> process(new CoordinatorProcess());
  ASSAY_RETURN_IF_ERROR(process->impl_->Start(options, wait));
  return process;
}

std::string CoordinatorProcess::ReadyLine() const { return impl_->ReadyLine(); }

}  // namespace assay::coordinator
