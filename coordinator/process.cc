#include "coordinator/process.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/file.h"
#include "common/log.h"
#include "common/uuid.h"
#include "coordinator/core/guarded.h"
#include "coordinator/metrics/fleet_metrics.h"
#include "wire/acceptor.h"

namespace assay::coordinator {
namespace {

constexpr int kExecutorThreads = 4;
constexpr int kExporterThreads = 2;
constexpr int kDatabaseConnections = 6;
constexpr Duration kDatabasePatience = std::chrono::seconds(30);
constexpr Duration kDatabaseRetry = std::chrono::seconds(1);
constexpr Duration kShutdownPatience = std::chrono::seconds(2);
// The time that a shutdown waits for calls to the database before it aborts them.
constexpr Duration kDatabaseFarewell = std::chrono::seconds(4);
constexpr Duration kGaugePeriod = std::chrono::seconds(5);
// Maximum time that a Prometheus scrape waits for the database to return the nodes. After that, the
// scrape is answered with the nodes read for an earlier one.
constexpr Duration kScrapePatience = std::chrono::milliseconds(200);
constexpr Duration kDiscoveryPatience = std::chrono::seconds(5);
// The age up to which an earlier state of the fleet may replace the current one.
constexpr Duration kMostFleetAge = std::chrono::minutes(2);
// Maximum number of gauges for outliers. There is one per kind of outlier and GPU model.
constexpr int kMaxOutlierGauges = 100;
// Interval between database maintenance runs. It can be this long because partitions are created
// well before they are needed, and old data may be deleted a few hours late.
constexpr Duration kMaintainPeriod = std::chrono::hours(6);

// Returns an id of this host and its network namespace, within which only one process at a time can
// listen on an address. Uses the boot id and the network namespace, because host names are not
// unique and all containers on a host share the boot id.
std::string HostId() {
  char network[64] = {};
  const ssize_t length = ::readlink("/proc/self/ns/net", network, sizeof(network) - 1);
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  return (boot.ok() ? boot->substr(0, boot->find('\n')) : "unknown") + " " +
         std::string(network, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

// Waits for `time`. Returns false if a signal asked the process to end.
bool WaitUnlessEnding(Duration time) {
  const sigset_t ending = EndingSignals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{static_cast<std::time_t>(seconds.count()),
                         static_cast<long>((time - seconds).count())};
  return ::sigtimedwait(&ending, nullptr, &timeout) < 0;
}

Status MigrateWithPatience(storage::Database& database) {
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
      Log().warn("the database is unreachable; trying for 30 s: {}", migrated.message());
    }
    if (!WaitUnlessEnding(kDatabaseRetry)) {
      return Status(Code::kCancelled, Reason::kInterrupted, "interrupted by a signal");
    }
  }
}

// A timer that calls `expired` on its own thread unless the timer is destroyed within `patience`.
class Deadline {
 public:
  Deadline(Duration patience, std::function<void()> expired)
      : thread_([this, patience, expired = std::move(expired)] {
          const auto end = std::chrono::steady_clock::now() + patience;
          MutexLock lock(mutex_);
          while (!cancelled_) {
            if (changed_.WaitUntil(mutex_, end)) continue;
            if (!cancelled_) expired();
            return;
          }
        }) {}
  ~Deadline() {
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  Mutex mutex_;
  CondVar changed_;
  bool cancelled_ ASSAY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Answers Prometheus with the nodes of `fleet` as its scrape targets. If `fleet` is null, answers
// with an error, which makes Prometheus keep its current targets.
void RespondWithDiscovery(http::Exchange& exchange,
                          const std::shared_ptr<const FleetView::Snapshot>& fleet) {
  if (!fleet) return exchange.Respond(http::PlainText(503, "the database does not answer\n"));
  http::RespondWith(exchange, "application/json",
                    ServiceDiscovery(fleet->rows, Clock::Real().WallNow()));
}

}  // namespace

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  return ending;
}

Result<std::unique_ptr<storage::Database>> OpenCurrentDatabase(
    const std::string& conninfo, const storage::DatabaseOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(auto database, storage::OpenDatabase(conninfo, options));
  ASSAY_RETURN_IF_ERROR(MigrateWithPatience(*database));
  return database;
}

Process::~Process() {
  {
    MutexLock lock(gate_mutex_);
    open_ = false;
  }
  const Deadline deadline(kDatabaseFarewell, [this] {
    if (database_) database_->Abort();
  });
  http_ = nullptr;
  console_ = nullptr;
  if (joining_) joining_->StopListening();
  if (server_) server_->Shutdown(kShutdownPatience);
  // End the tasks before the objects that they use.
  exporter_ = nullptr;
  judging_ = nullptr;
  maintenance_ = nullptr;
  executor_ = nullptr;
}

Status Process::Start(const CoordinatorOptions& options) {
  storage::DatabaseOptions database_options;
  database_options.pool.connections = kDatabaseConnections;
  database_options.pool.observer = [this](const char* name, Duration took, bool) {
    metrics_.QueryEnded(name, took);
  };
  ASSAY_ASSIGN_OR_RETURN(database_, OpenCurrentDatabase(options.database, database_options));

  executor_ = NewThreadPool(kExecutorThreads, "coordinator");
  // Maintenance and judging run on threads of their own, because deleting old data may take an
  // hour, and judging many results may take a minute.
  maintenance_ = NewThreadPool(1, "maintenance");
  judging_ = NewThreadPool(1, "judge");
  exporter_ = NewThreadPool(kExporterThreads, "exporter");
  Options core;
  core.coordinator_id = NewUuid();
  core.lease = options.lease;
  core.heartbeat = options.heartbeat;
  core.poll = std::min<Duration>(core.poll, options.lease / 3);
  core.rerun_share = options.rerun_share;
  core.rerun_spacing = options.rerun_spacing;
  const Environment environment{Clock::Real(),
                                *executor_,
                                database_->jobs(),
                                database_->results(),
                                database_->nodes(),
                                database_->fleet(),
                                database_->work(),
                                database_->analysis(),
                                database_->schedules(),
                                metrics_,
                                options.authority ? &database_->identities() : nullptr};
  coordinator_ = std::make_unique<Coordinator>(environment, core);
  ASSAY_RETURN_IF_ERROR(Serve(options));
  const HostPort& listens = server_->address();
  coordinator_->Start(
      {HostId() + " " + listens.ToString(), AdvertisedAddress(options.advertise, listens)});
  database_->Listen([this] {
    MutexLock lock(gate_mutex_);
    if (open_) coordinator_->OnNotification();
  });
  RefreshGauges();
  maintenance_->Post([this, retention = options.retention] { Maintain(retention); });
  judging_->Post([this, period = options.judge_period] { JudgeResults(period); });
  FollowFleet();
  return Status::Ok();
}

std::string Process::ReadyLine() const {
  nlohmann::json line = {{"grpc", server_->address().ToString()}};
  if (http_) line["http"] = http_->address().ToString();
  if (console_) line["console"] = console_->url();
  if (joining_ && joining_->listens()) line["join"] = joining_->membership().join.url;
  return line.dump();
}

Status Process::Serve(const CoordinatorOptions& options) {
  rpc::ServerOptions server;
  ASSAY_ASSIGN_OR_RETURN(
      server.acceptor,
      assay::rpc::Acceptor::Listen(options.listen, assay::rpc::ConnectionLimits::OfProcess()));
  server.tls = options.tls;
  server.agent_tls = options.agent_tls;
  if (options.authority) {
    ASSAY_ASSIGN_OR_RETURN(joining_, Joining::Start(options, server.acceptor->address(), *executor_,
                                                    database_->identities()));
    server.tls = joining_->tls();
    server.agent_tls = joining_->tls();
    server.membership = &joining_->membership();
  }
  server.insecure = options.insecure;
  server.counter = [this](const char* method, Code code) { metrics_.CallEnded(method, code); };
  ASSAY_ASSIGN_OR_RETURN(server_, rpc::Server::Start(*coordinator_, std::move(server)));
  Log().info("gRPC on {}", server_->address().ToString());
  // The error can be ignored, because BanList logs it and tries again.
  if (joining_) static_cast<void>(joining_->membership().bans.Start());
  if (options.console) ASSAY_RETURN_IF_ERROR(ServeConsole(options));
  if (!options.http) return Status::Ok();
  http::MetricsServerOptions http;
  http.address = *options.http;
  metrics_.set_pool([this]() -> PoolUse {
    const storage::PoolStats pool = database_->Stats();
    return {pool.in_use, pool.idle, pool.waiting};
  });
  http.collectables = {metrics_.collectable()};
  http.health = [this] { return server_->Check(); };
  http.ready = [this]() -> Status {
    ASSAY_RETURN_IF_ERROR(server_->Check());
    return database_->nodes().ListDialAddresses().status().WithContext(
        "the database does not answer");
  };
  http.handlers = {{"/sd",
                    [this](std::shared_ptr<http::Exchange> exchange) {
                      WithFleet(kDiscoveryPatience, [exchange](const SnapshotPointer& fleet) {
                        RespondWithDiscovery(*exchange, fleet);
                      });
                    }},
                   {"/metrics/gpus", [this](std::shared_ptr<http::Exchange> exchange) {
                      AnswerFleetScrape(std::move(exchange));
                    }}};
  ASSAY_ASSIGN_OR_RETURN(http_, http::MetricsServer::Start(std::move(http)));
  Log().info("metrics on http://{}/metrics", http_->address().ToString());
  return Status::Ok();
}

// Serves the web console. Returns an error only if the user chose the console's address, because
// only one of several coordinators on a host can use the default port.
Status Process::ServeConsole(const CoordinatorOptions& options) {
  web::ConsoleOptions console = *options.console;
  console.services = server_->LocalChannel();
  Result<std::unique_ptr<web::Console>> started = web::Console::Start(std::move(console));
  if (!started.ok()) {
    const Status failed = started.status().WithContext("the console is not served");
    if (options.console_required) return failed;
    Log().warn("{}", failed.message());
    return Status::Ok();
  }
  console_ = *std::move(started);
  Log().info("console on {}", console_->url());
  return Status::Ok();
}

void Process::WithFleet(Duration patience, std::function<void(const SnapshotPointer&)> answer) {
  auto answered = std::make_shared<std::atomic<bool>>(false);
  const auto once = [answer = std::move(answer), answered](const SnapshotPointer& fleet) {
    if (!answered->exchange(true)) answer(fleet);
  };
  exporter_->Post([this, once] {
    const auto fleet = coordinator_->fleet_view().Latest();
    if (fleet.ok()) {
      MutexLock lock(fleet_mutex_);
      fleet_ = *fleet;
    }
    once(RecentFleet());
  });
  exporter_->PostAfter(patience, [this, once] { once(RecentFleet()); });
}

Process::SnapshotPointer Process::RecentFleet() {
  MutexLock lock(fleet_mutex_);
  const bool recent = fleet_ && Clock::Real().Now() - fleet_->time < kMostFleetAge;
  return recent ? fleet_ : nullptr;
}

// Answers a Prometheus scrape with the metrics of the fleet's nodes. Only the leader includes lost
// nodes, which are in the database but have no session with an agent. Otherwise, every coordinator
// would export them.
void Process::AnswerFleetScrape(std::shared_ptr<http::Exchange> exchange) {
  const auto answer = [this, exchange](const SnapshotPointer& fleet) {
    FleetMetricsSources sources;
    sources.silence = coordinator_->options().Silence();
    sources.now = Clock::Real().WallNow();
    sources.sessions = coordinator_->sessions().List(sources.silence);
    sources.snapshot = fleet;
    http::RespondInParts(exchange, kTextFormat, FleetMetrics(std::move(sources)));
  };
  if (!coordinator_->leadership().IsLeader()) return answer(nullptr);
  WithFleet(kScrapePatience, answer);
}

void Process::FollowFleet() {
  static_cast<void>(Guarded("FollowFleet", [this]() -> Status {
    std::vector<std::string> addresses;
    const bool leads = coordinator_->leadership().IsLeader();
    if (leads) {
      ASSAY_ASSIGN_OR_RETURN(addresses, database_->nodes().ListDialAddresses());
    }
    server_->dialer().Follow(addresses);
    return leads && joining_ ? joining_->membership().enrolment.RemoveGone() : Status::Ok();
  }));
  coordinator_->executor().PostAfter(coordinator_->options().poll, [this] { FollowFleet(); });
}

void Process::RefreshGauges() {
  static_cast<void>(Guarded("RefreshGauges", [this] {
    ReadGauges();
    return Status::Ok();
  }));
  coordinator_->executor().PostAfter(kGaugePeriod, [this] { RefreshGauges(); });
}

void Process::ReadGauges() {
  const auto queue = database_->jobs().GetQueueStats();
  if (queue.ok()) metrics_.SetQueue(*queue);
  const auto nodes = database_->nodes().CountNodes(coordinator_->options().Silence());
  if (nodes.ok()) metrics_.SetNodes(*nodes);
  metrics_.SetReady(queue.ok() && nodes.ok() && server_->Check().ok());
}

void Process::ReadFindings() {
  const auto counts = database_->analysis().CountFindings(kMaxOutlierGauges);
  if (counts.ok()) metrics_.SetFindings(*counts);
}

void Process::Maintain(const storage::Retention& retention) {
  const Status maintained = Guarded("Maintain", [&]() -> Status {
    ASSAY_RETURN_IF_ERROR(database_->Migrate());
    if (!coordinator_->leadership().IsLeader()) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(const storage::Retired retired, database_->Retire(retention));
    if (retired.partitions + retired.campaigns + retired.samples > 0) {
      Log().info("deleted {} months of results, {} campaigns and {} samples", retired.partitions,
                 retired.campaigns, retired.samples);
    }
    return Status::Ok();
  });
  if (!maintained.ok()) {
    Log().warn("cannot maintain the database; trying again later: {}", maintained.ToString());
  }
  maintenance_->PostAfter(kMaintainPeriod, [this, retention] { Maintain(retention); });
}

void Process::JudgeResults(Duration period) {
  const Status judged = Guarded("Judge", [this] {
    const Status passed = coordinator_->judge().Pass();
    ReadFindings();
    return passed;
  });
  if (!judged.ok()) Log().warn("cannot judge results; trying again: {}", judged.ToString());
  judging_->PostAfter(period, [this, period] { JudgeResults(period); });
}

}  // namespace assay::coordinator
