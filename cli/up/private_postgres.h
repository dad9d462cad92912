// A PostgreSQL of our own in one folder, for `assay up` and for tests. It never
// touches the system's clusters.
//
//   DIR/data      the cluster       DIR/postgres.log   its log
//   DIR/socket    its socket, or a short folder elsewhere if DIR's path is long
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay {

struct PrivatePostgresOptions {
  // False loses the last transactions, or the cluster, with the machine: tests only.
  bool fsync = true;
  // Listens on 127.0.0.1 too, for the SELECT-only role assay_reader alone.
  std::optional<int> tcp_port;
  // The kernel kills the server when the thread that called Start ends.
  bool die_with_parent = false;
  // For initdb and for recovery after a crash, each.
  Duration start_timeout = std::chrono::minutes(2);
};

// A running server. Only the user it runs as, and root, can reach its socket: the
// folder has mode 0700, and whoever gets in is its superuser. Destruction stops
// it. Not thread-safe.
class PrivatePostgres {
 public:
  // Makes the cluster if `directory` has none, starts the server and waits until
  // it takes connections. As root it runs as `postgres`, or `nobody` if there is
  // no such user, and the folder becomes that user's. The programs are looked for
  // in $ASSAY_POSTGRES_BIN, in ../lib/postgresql/*/bin beside our own program, on
  // the PATH and in /usr/lib/postgresql/*/bin, the highest version first.
  // NOT_FOUND: PostgreSQL is not installed. FAILED_PRECONDITION: a server runs on
  // the folder already, or its user cannot get there. Else the end of the log.
  static Result<PrivatePostgres> Start(const std::string& directory,
                                       const PrivatePostgresOptions& options = {});

  PrivatePostgres(PrivatePostgres&& other) noexcept;
  PrivatePostgres& operator=(PrivatePostgres&& other) noexcept;
  ~PrivatePostgres();

  // For libpq; holds no secret.
  std::string ConnectionString(const std::string& database = "postgres") const;

  // Rolls back what is open, disconnects everyone and waits for the end. No effect
  // on a server that has ended.
  void Stop();
  // As a power cut does: kills the server and its children, and waits for them.
  void Kill();
  // Starts again after Stop or Kill; stops first if it still runs.
  Status Restart();

  // Readable once the server has ended; for poll(2).
  int pidfd() const { return process_->pidfd(); }

 private:
  struct Setup {
    std::string directory;  // Absolute.
    std::string binaries;   // Folder of postgres and initdb.
    std::string socket;     // Folder of the socket.
    std::optional<std::pair<uid_t, gid_t>> user;
    PrivatePostgresOptions options;
  };

  explicit PrivatePostgres(Setup setup) : setup_(std::move(setup)) {}

  static Status Prepare(Setup& setup);
  static Status InitCluster(const Setup& setup);
  Status Launch();

  Setup setup_;
  std::optional<Subprocess> process_;
};

}  // namespace assay
