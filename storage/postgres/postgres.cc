#include "storage/postgres/postgres.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "common/log.h"
#include "common/subprocess.h"
#include "storage/postgres/stores.h"

namespace assay::storage {
namespace {

// Listens for PostgreSQL notifications on its own connection and thread. Calls `callback` after
// each batch of notifications. Also calls it whenever it has connected, because notifications may
// have been missed before. If the connection is lost, reconnects after 0.1 s to 5 s. The destructor
// ends the thread promptly, even during this delay.
class Listener {
 public:
  Listener(std::string conninfo, std::string channel, std::function<void()> callback);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  void Loop();
  // Runs until the connection fails or destruction begins. True if it connected.
  bool ListenOnce();
  // Waits until `fd` is readable, for at most `timeout_ms`. If `fd` is -1, there is no descriptor
  // to wait for. If `timeout_ms` is -1, there is no time limit. Returns true if the destructor has
  // been called, which ends the wait early.
  bool StopsBefore(int fd, int timeout_ms);

  const std::string conninfo_;
  const std::string channel_;
  const std::function<void()> callback_;
  FileDescriptor stop_;  // An eventfd that destruction makes readable.
  std::thread thread_;
};

Listener::Listener(std::string conninfo, std::string channel, std::function<void()> callback)
    : conninfo_(std::move(conninfo)),
      channel_(std::move(channel)),
      callback_(std::move(callback)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Loop(); }) {}

Listener::~Listener() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Listener::Loop() {
  constexpr int kFirstDelayMs = 100;
  int delay_ms = kFirstDelayMs;
  do {
    if (ListenOnce()) delay_ms = kFirstDelayMs;
    delay_ms = std::min(delay_ms * 2, 5'000);
  } while (!StopsBefore(-1, delay_ms));
}

bool Listener::ListenOnce() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(conninfo_.c_str()),
                                                                &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    Log().debug("cannot listen for queued jobs: the database is not there");
    return false;
  }
  PGresult* result = PQexec(connection.get(), ("LISTEN " + channel_).c_str());
  const bool listening = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (!listening) return false;
  callback_();
  while (!StopsBefore(PQsocket(connection.get()), -1)) {
    if (PQconsumeInput(connection.get()) == 0) return true;
    bool notified = false;
    while (PGnotify* notification = PQnotifies(connection.get())) {
      PQfreemem(notification);
      notified = true;
    }
    if (notified) callback_();
  }
  return true;
}

bool Listener::StopsBefore(int fd, int timeout_ms) {
  pollfd watched[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  ::poll(watched, 2, timeout_ms);
  return watched[0].revents != 0;
}

class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(std::unique_ptr<Pool> pool)
      : pool_(std::move(pool)),
        jobs_(MakeJobStore(*pool_)),
        nodes_(MakeNodeStore(*pool_)),
        results_(MakeResultStore(*pool_)) {}

  Status Migrate() override { return storage::Migrate(*pool_); }

  JobStore& jobs() override { return *jobs_; }
  NodeStore& nodes() override { return *nodes_; }
  ResultStore& results() override { return *results_; }

  void Listen(std::function<void()> on_queued) override {
    listener_ =
        std::make_unique<Listener>(pool_->conninfo(), kJobsQueuedChannel, std::move(on_queued));
  }

  PoolStats Stats() override { return pool_->Stats(); }

 private:
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<NodeStore> nodes_;
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
