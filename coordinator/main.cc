// assay-coordinator: schedules campaigns, sends jobs to agents and stores results in PostgreSQL.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/file.h"
#include "common/host_port.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/ready_line.h"
#include "common/units.h"
#include "common/uuid.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/core/guarded.h"
#include "coordinator/metrics/fleet_metrics.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/rpc/server.h"
#include "coordinator/web/console.h"
#include "http/metrics_server.h"
#include "storage/postgres/postgres.h"
#include "wire/credentials.h"

namespace assay::coordinator {
namespace {

constexpr int kUsageError = 2;
constexpr Duration kMinHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kMaxLease = std::chrono::hours(1);

constexpr int kExecutorThreads = 4;
constexpr int kExporterThreads = 2;
constexpr int kDatabaseConnections = 6;
constexpr Duration kDatabasePatience = std::chrono::seconds(30);
constexpr Duration kDatabaseRetry = std::chrono::seconds(1);
constexpr Duration kShutdownPatience = std::chrono::seconds(2);
// Time that the database has to take note of the end of the process.
constexpr Duration kDatabaseFarewell = std::chrono::seconds(4);
constexpr Duration kGaugePeriod = std::chrono::seconds(5);
// Time that the database has to tell about nodes. Then a request is answered with what was read for
// an earlier one.
constexpr Duration kScrapePatience = std::chrono::milliseconds(200);
constexpr Duration kDiscoveryPatience = std::chrono::seconds(5);
// Age up to which an earlier state of the fleet is used.
constexpr Duration kMostFleetAge = std::chrono::minutes(2);
// Outliers have a gauge per kind and model of GPU.
constexpr int kMaxOutlierGauges = 100;
constexpr double kMostRerunShare = 0.5;
// Partitions are created long before they are needed, and old data deleted some hours late.
constexpr Duration kMaintainPeriod = std::chrono::hours(6);

// The command line after its check.
struct CoordinatorOptions {
  HostPort listen;
  std::optional<HostPort> advertise;           // Absent: as `listen`.
  std::optional<HostPort> http;                // Absent: no HTTP.
  std::optional<web::ConsoleOptions> console;  // Absent: no console.
  bool console_required = false;  // Without the console, the coordinator does not start.
  // libpq's key=value form or a postgresql:// URL; may hold a password, so it is never logged.
  std::string database;
  assay::rpc::TlsFiles tls;
  assay::rpc::TlsFiles agent_tls;  // For dialling agents.
  bool insecure = false;
  Duration lease{0};
  Duration heartbeat{0};
  storage::Retention retention;
  double rerun_share = 0;
  Duration rerun_spacing{0};
  Duration judge_period{0};
  std::string log_level = "info";
  int ready_fd = -1;
};

// Flags as parsed, before they are checked.
struct Flags {
  std::string listen = "127.0.0.1:7900";
  std::string advertise;
  std::string http = "127.0.0.1:9900";
  std::string console = "127.0.0.1:7980";
  web::ConsoleOptions console_options;
  std::string lease = "30s";
  std::string heartbeat = "5s";
  std::string keep_results;
  std::string keep_samples;
  double rerun_share = 0.02;
  std::string rerun_spacing = "10m";
  std::string judge_every = "30s";
};

void AddOptions(CLI::App& app, Flags& flags, CoordinatorOptions& options) {
  app.set_version_flag("--version", std::string("assay-coordinator ") + ASSAY_VERSION);
  app.add_option("--listen", flags.listen, "HOST:PORT for gRPC; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--advertise", flags.advertise,
                 "HOST:PORT at which agents reach this coordinator, for fleets with several "
                 "(default: as --listen)");
  app.add_option("--http", flags.http,
                 "HOST:PORT for /metrics, /healthz and /sd; \"\" for none, port 0 for any")
      ->capture_default_str();
  app.add_option("--console", flags.console,
                 "HOST:PORT for the web console; \"\" for none, port 0 for any. Beyond loopback it "
                 "needs --console-tls-cert, --console-tls-key and ASSAY_CONSOLE_TOKEN")
      ->capture_default_str();
  app.add_option("--console-host", flags.console_options.hosts,
                 "Name under which browsers reach the console, besides localhost and IP addresses; "
                 "may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--console-tls-cert", flags.console_options.tls_certificate,
                 "PEM file: certificate chain of the console");
  app.add_option("--console-tls-key", flags.console_options.tls_key,
                 "PEM file: private key of the console");
  app.add_option("--tls-cert", options.tls.certificate, "PEM file: certificate chain");
  app.add_option("--tls-key", options.tls.key, "PEM file: private key");
  app.add_option("--tls-ca", options.tls.authorities,
                 "PEM file: authorities that clients must chain to (mutual TLS)");
  app.add_option("--agent-tls-cert", options.agent_tls.certificate,
                 "As --tls-cert, for dialling agents (default: the same)");
  app.add_option("--agent-tls-key", options.agent_tls.key,
                 "As --tls-key, for dialling agents (default: the same)");
  app.add_option("--agent-tls-ca", options.agent_tls.authorities,
                 "As --tls-ca, for dialling agents (default: the same)");
  app.add_flag("--insecure", options.insecure, "Allow plaintext beyond loopback");
  app.add_option("--lease", flags.lease, "Time without a message after which an agent is lost")
      ->capture_default_str();
  app.add_option("--heartbeat", flags.heartbeat, "Interval at which agents report")
      ->capture_default_str();
  app.add_option("--keep-results", flags.keep_results,
                 "Age at which ended campaigns are deleted with their results, in whole months: "
                 "400d (default: never)");
  app.add_option("--keep-samples", flags.keep_samples,
                 "Age at which samples are deleted (default: with the results)");
  app.add_option("--rerun-share", flags.rerun_share,
                 "Reruns that confirm regressions, as a fraction of all runs; 0 for none")
      ->envname("ASSAY_RERUN_SHARE")
      ->capture_default_str();
  app.add_option("--rerun-spacing", flags.rerun_spacing, "Time between two such reruns of a case")
      ->envname("ASSAY_RERUN_SPACING")
      ->capture_default_str();
  app.add_option("--judge-every", flags.judge_every, "Interval at which new results are judged")
      ->envname("ASSAY_JUDGE_EVERY")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd,
                 "Write the addresses, as one line of JSON, to this descriptor when serving");
  app.footer(
      "ASSAY_DATABASE must hold libpq's connection string of the PostgreSQL database: key=value "
      "pairs or a URL. ASSAY_CONSOLE_TOKEN is the secret that the console asks browsers for; "
      "empty: "
      "none.\n\nExit status: 0 ended by SIGTERM or SIGINT; 1 cannot start, for example "
      "without its database; 2 invalid flag, address or TLS file.");
}

// Identifies this host and its network: on it, an address has one listener. Host names are not
// unique, and containers share the host's boot id.
std::string HostId() {
  char network[64] = {};
  const ssize_t length = ::readlink("/proc/self/ns/net", network, sizeof(network) - 1);
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  return (boot.ok() ? boot->substr(0, boot->find('\n')) : "unknown") + " " +
         std::string(network, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

// Returns the address that other coordinators tell to agents. Empty if it is not known: an address
// such as 0.0.0.0 leads nowhere.
std::string AdvertisedAddress(const std::optional<HostPort>& given, const HostPort& listens) {
  if (given) return given->ToString();
  return listens.host == "0.0.0.0" || listens.host == "::" ? "" : listens.ToString();
}

// Stores the value of a flag, or returns its error.
template <typename Value, typename Into>
Status Store(const char* flag, const Result<Value>& parsed, Into& into) {
  if (!parsed.ok()) return parsed.status().WithContext(flag);
  into = *parsed;
  return Status::Ok();
}

Status CheckConsoleFlags(const Flags& flags, CoordinatorOptions& options) {
  if (flags.console.empty()) return Status::Ok();
  web::ConsoleOptions console = flags.console_options;
  ASSAY_RETURN_IF_ERROR(Store("--console", ParseHostPort(flags.console), console.address));
  const char* const token = std::getenv("ASSAY_CONSOLE_TOKEN");
  if (token != nullptr) console.token = token;
  console.version = ASSAY_VERSION;
  ASSAY_RETURN_IF_ERROR(web::CheckConsole(console));
  options.console = std::move(console);
  options.console_required = flags.console != Flags().console;
  return Status::Ok();
}

Status CheckFlags(const Flags& flags, CoordinatorOptions& options) {
  ASSAY_RETURN_IF_ERROR(Store("--listen", ParseHostPort(flags.listen), options.listen));
  if (!flags.advertise.empty()) {
    ASSAY_RETURN_IF_ERROR(Store("--advertise", ParseHostPort(flags.advertise), options.advertise));
  }
  if (!flags.http.empty()) {
    ASSAY_RETURN_IF_ERROR(Store("--http", ParseHostPort(flags.http), options.http));
  }
  ASSAY_RETURN_IF_ERROR(CheckConsoleFlags(flags, options));
  ASSAY_RETURN_IF_ERROR(Store("--lease", ParseDuration(flags.lease), options.lease));
  ASSAY_RETURN_IF_ERROR(Store("--heartbeat", ParseDuration(flags.heartbeat), options.heartbeat));
  if (options.heartbeat < kMinHeartbeat) {
    return InvalidArgument("--heartbeat: " + flags.heartbeat + " is less than 100ms");
  }
  if (options.lease < 2 * options.heartbeat || options.lease > kMaxLease) {
    return InvalidArgument("--lease: " + flags.lease + " is not between two heartbeats (" +
                           flags.heartbeat + " each) and 1h");
  }
  if (!flags.keep_results.empty()) {
    ASSAY_RETURN_IF_ERROR(
        Store("--keep-results", ParseDuration(flags.keep_results), options.retention.results));
    if (options.retention.results < storage::kMinRetention) {
      return InvalidArgument("--keep-results: " + flags.keep_results + " is less than 14d");
    }
  }
  if (!flags.keep_samples.empty()) {
    ASSAY_RETURN_IF_ERROR(
        Store("--keep-samples", ParseDuration(flags.keep_samples), options.retention.samples));
  }
  options.rerun_share = flags.rerun_share;
  if (!(options.rerun_share >= 0 && options.rerun_share <= kMostRerunShare)) {
    return InvalidArgument("--rerun-share: must be from 0 to 0.5");
  }
  ASSAY_RETURN_IF_ERROR(
      Store("--rerun-spacing", ParseDuration(flags.rerun_spacing), options.rerun_spacing));
  ASSAY_RETURN_IF_ERROR(
      Store("--judge-every", ParseDuration(flags.judge_every), options.judge_period));
  if (options.judge_period < kMinHeartbeat) {
    return InvalidArgument("--judge-every: " + flags.judge_every + " is less than 100ms");
  }
  // There is no flag for it, because `ps` shows flags and a connection string may hold a password.
  const char* const database = std::getenv("ASSAY_DATABASE");
  if (database == nullptr || *database == '\0') {
    return InvalidArgument(
        "no database: set the environment variable ASSAY_DATABASE to a connection string of "
        "libpq, for example \"host=/run/postgresql dbname=assay\"");
  }
  options.database = database;
  if (options.agent_tls.empty()) options.agent_tls = options.tls;
  return Status::Ok();
}

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  return ending;
}

// Waits for `time`. Returns false if a signal asked the process to end.
bool WaitUnlessEnding(Duration time) {
  const sigset_t ending = EndingSignals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{static_cast<std::time_t>(seconds.count()),
                         static_cast<long>((time - seconds).count())};
  return ::sigtimedwait(&ending, nullptr, &timeout) < 0;
}

// Upgrades the database schema to this program's version. If the database is unreachable, retries
// for 30 s, or until the process receives SIGTERM or SIGINT.
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

// Calls `expired` on a thread of its own unless it is destroyed within `patience`.
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

// Creates the parts of the process, connects them, and ends them in order.
class Process {
 public:
  // Closes agents' sessions, ends calls, and stops within 10 s, whatever the database does: after
  // kDatabaseFarewell, the timeout of a connection that begins just then, and kShutdownPatience.
  ~Process() {
    {
      MutexLock lock(gate_mutex_);
      open_ = false;
    }
    const Deadline deadline(kDatabaseFarewell, [this] {
      if (database_) database_->Abort();
    });
    http_ = nullptr;
    console_ = nullptr;
    if (server_) server_->Shutdown(kShutdownPatience);
    // Tasks end before the objects that they use.
    exporter_ = nullptr;
    judging_ = nullptr;
    maintenance_ = nullptr;
    executor_ = nullptr;
  }

  // Opens and migrates the database and starts serving. The error says what is missing or in use.
  Status Start(const CoordinatorOptions& options) {
    storage::DatabaseOptions database_options;
    database_options.pool.connections = kDatabaseConnections;
    database_options.pool.observer = [this](const char* name, Duration took, bool) {
      metrics_.QueryEnded(name, took);
    };
    ASSAY_ASSIGN_OR_RETURN(database_, storage::OpenDatabase(options.database, database_options));
    ASSAY_RETURN_IF_ERROR(MigrateWithPatience(*database_));

    executor_ = NewThreadPool(kExecutorThreads, "coordinator");
    // Deleting old data may take an hour, and judging many results a minute.
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
    const Environment environment{Clock::Real(),          *executor_,
                                  database_->jobs(),      database_->results(),
                                  database_->nodes(),     database_->fleet(),
                                  database_->work(),      database_->analysis(),
                                  database_->schedules(), metrics_};
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
    FollowDialAddresses();
    return Status::Ok();
  }

  // Returns {"grpc":"HOST:PORT","http":"HOST:PORT","console":"URL"} with the actual ports.
  std::string ReadyLine() const {
    nlohmann::json line = {{"grpc", server_->address().ToString()}};
    if (http_) line["http"] = http_->address().ToString();
    if (console_) line["console"] = console_->url();
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

  // Several coordinators on one host share the default port, which is the first one's.
  Status ServeConsole(const CoordinatorOptions& options) {
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

  using SnapshotPointer = std::shared_ptr<const FleetView::Snapshot>;

  // Calls `answer` once, on a thread of its own, with the state of the fleet. If the database takes
  // longer than `patience`, calls it with an earlier state, or with null.
  void WithFleet(Duration patience, std::function<void(const SnapshotPointer&)> answer) {
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

  SnapshotPointer RecentFleet() {
    MutexLock lock(fleet_mutex_);
    const bool recent = fleet_ && Clock::Real().Now() - fleet_->time < kMostFleetAge;
    return recent ? fleet_ : nullptr;
  }

  // Without the fleet, Prometheus keeps the targets that it has.
  static void RespondWithDiscovery(http::Exchange& exchange, const SnapshotPointer& fleet) {
    if (!fleet) return exchange.Respond(http::PlainText(503, "the database does not answer\n"));
    http::RespondWith(exchange, "application/json",
                      ServiceDiscovery(fleet->rows, Clock::Real().WallNow()));
  }

  // Only the leader has sessions. The others would repeat what it exports of lost nodes.
  void AnswerFleetScrape(std::shared_ptr<http::Exchange> exchange) {
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

  // Dials the agents that were added, here or at another coordinator, while this one is the leader.
  void FollowDialAddresses() {
    static_cast<void>(Guarded("FollowDialAddresses", [this]() -> Status {
      std::vector<std::string> addresses;
      if (coordinator_->leadership().IsLeader()) {
        ASSAY_ASSIGN_OR_RETURN(addresses, database_->nodes().ListDialAddresses());
      }
      server_->dialer().Follow(addresses);
      return Status::Ok();
    }));
    coordinator_->executor().PostAfter(coordinator_->options().poll,
                                       [this] { FollowDialAddresses(); });
  }

  // Reads the state outside this process. Runs at intervals, not at every scrape.
  void RefreshGauges() {
    static_cast<void>(Guarded("RefreshGauges", [this] {
      ReadGauges();
      return Status::Ok();
    }));
    coordinator_->executor().PostAfter(kGaugePeriod, [this] { RefreshGauges(); });
  }

  void ReadGauges() {
    const auto queue = database_->jobs().GetQueueStats();
    if (queue.ok()) metrics_.SetQueue(*queue);
    const auto nodes = database_->nodes().CountNodes(coordinator_->options().Silence());
    if (nodes.ok()) metrics_.SetNodes(*nodes);
    metrics_.SetReady(queue.ok() && nodes.ok() && server_->Check().ok());
  }

  void ReadFindings() {
    const auto counts = database_->analysis().CountFindings(kMaxOutlierGauges);
    if (counts.ok()) metrics_.SetFindings(*counts);
  }

  // Creates the partitions of the next months and, as the leader, deletes old data. Repeats.
  void Maintain(const storage::Retention& retention) {
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

  // Judges new results, reads the numbers of findings, and repeats.
  void JudgeResults(Duration period) {
    const Status judged = Guarded("Judge", [this] {
      const Status passed = coordinator_->judge().Pass();
      ReadFindings();
      return passed;
    });
    if (!judged.ok()) Log().warn("cannot judge results; trying again: {}", judged.ToString());
    judging_->PostAfter(period, [this, period] { JudgeResults(period); });
  }

  // Destroyed in reverse order: users before the objects that they use.
  Metrics metrics_;
  Mutex gate_mutex_;
  bool open_ ASSAY_GUARDED_BY(gate_mutex_) = true;  // The coordinator may be notified.
  Mutex fleet_mutex_;
  std::shared_ptr<const FleetView::Snapshot> fleet_ ASSAY_GUARDED_BY(fleet_mutex_);  // The latest.
  std::unique_ptr<storage::Database> database_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Executor> maintenance_;
  std::unique_ptr<Executor> judging_;
  std::unique_ptr<Executor> exporter_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<web::Console> console_;
  std::unique_ptr<http::MetricsServer> http_;
};

// Returns the exit code.
int Main(int argc, char** argv) {
  // Each thread that parses messages would otherwise keep a heap of its own as large as its largest
  // message.
  ::mallopt(M_ARENA_MAX, 2);
  CoordinatorOptions options;
  Flags flags;
  CLI::App app("Schedules Assay's campaigns on the connected agents.", "assay-coordinator");
  AddOptions(app, flags, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  Status usable = CheckFlags(flags, options);
  if (usable.ok()) {
    usable = InitLog("assay-coordinator", options.log_level).WithContext("--log-level");
  }
  if (!usable.ok()) {
    std::cerr << "assay-coordinator: " << usable.message() << "\n";
    if (!usable.hint().empty()) std::cerr << "hint: " << usable.hint() << "\n";
    return kUsageError;
  }
  // Block SIGTERM and SIGINT before any thread starts, because every thread inherits the mask. Only
  // sigwait below then receives these signals.
  const sigset_t ending = EndingSignals();
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  auto process = std::make_unique<Process>();
  if (const Status started = process->Start(options); !started.ok()) {
    std::cerr << "assay-coordinator: " << started << "\n";
    // Best effort: the starting program may have ended. The text above is for people.
    static_cast<void>(TellFailed(options.ready_fd, started));
    return started.code() == Code::kInvalidArgument ? kUsageError : 1;
  }
  if (const Status told = TellReady(options.ready_fd, process->ReadyLine()); !told.ok()) {
    Log().warn("{}", told.message());
  }
  int signal = 0;
  while (::sigwait(&ending, &signal) != 0) {
  }
  Log().info("ending on signal {}", signal);
  process = nullptr;
  return 0;
}

}  // namespace
}  // namespace assay::coordinator

int main(int argc, char** argv) { return assay::coordinator::Main(argc, argv); }
