// The parts of the coordinator's process.
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/joining.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/options.h"
#include "coordinator/rpc/server.h"
#include "coordinator/web/console.h"
#include "http/metrics_server.h"
#include "storage/postgres/postgres.h"

namespace assay::coordinator {

// Returns SIGTERM and SIGINT. Block them before the first thread starts.
sigset_t EndingSignals();

// Opens a database and upgrades its schema to this program's version. While the database is
// unreachable, retries for up to 30 s, or until the process receives SIGTERM or SIGINT.
Result<std::unique_ptr<storage::Database>> OpenCurrentDatabase(
    const std::string& conninfo, const storage::DatabaseOptions& options = {});

// Creates the parts of the process, connects them, and ends them in order.
class Process {
 public:
  // Closes the sessions with agents and ends all calls and tasks. Takes at most 10 s, even if the
  // database is not responding.
  ~Process();

  // Opens and migrates the database and starts serving. The error says what is missing or in use.
  Status Start(const CoordinatorOptions& options);

  // Returns {"grpc":"HOST:PORT","http":"HOST:PORT","console":"URL","join":"URL"} with the actual
  // ports.
  std::string ReadyLine() const;

 private:
  using SnapshotPointer = std::shared_ptr<const FleetView::Snapshot>;

  Status Serve(const CoordinatorOptions& options);
  Status ServeConsole(const CoordinatorOptions& options);
  // Calls `answer` once, on a thread of `exporter_`, with the state of the fleet. If the database
  // takes longer than `patience`, passes an earlier state instead, or null if there is no recent
  // one.
  void WithFleet(Duration patience, std::function<void(const SnapshotPointer&)> answer);
  SnapshotPointer RecentFleet();
  void AnswerFleetScrape(std::shared_ptr<http::Exchange> exchange);
  // On the leader, dials all agents whose addresses users have added at any coordinator, and
  // removes ephemeral nodes that have left. On other coordinators, stops dialing those agents.
  // Schedules its own next run.
  void FollowFleet();
  // Updates the gauges whose values come from the database. Runs periodically rather than at every
  // scrape.
  void RefreshGauges();
  void ReadGauges();
  void ReadFindings();
  // Creates the database partitions for the coming months. On the leader, also deletes old data.
  // Schedules its own next run.
  void Maintain(const storage::Retention& retention);
  // Judges new results, reads the numbers of findings, and schedules its next run.
  void JudgeResults(Duration period);

  // Members are destroyed in reverse order, so each object is declared after the objects it uses.
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
  std::unique_ptr<Joining> joining_;  // Null without an authority.
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<web::Console> console_;
  std::unique_ptr<http::MetricsServer> http_;
};

}  // namespace assay::coordinator
