// A private PostgreSQL in one folder, for `assay up` and for tests. It never touches the system's
// clusters.
//
//   DIR/data      the cluster       DIR/postgres.log   its log
//   DIR/socket    its socket, or a short folder elsewhere if DIR's path is long
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay {

struct PrivatePostgresOptions {
  // Without fsync, a crash of the machine can destroy the cluster. For tests only.
  bool fsync = true;
  // If set, the server also listens on this port of 127.0.0.1, for the read-only role
  // assay_reader.
  std::optional<int> tcp_port;
  // If true, the kernel kills the server when the thread that called Start ends.
  bool die_with_parent = false;
  // Limits initdb, and separately the start with its recovery after a crash.
  Duration start_timeout = std::chrono::minutes(2);
};

// A running server. Destruction stops it. Only its user and root can reach its socket, because the
// folder has mode 0700; whoever connects is a superuser. Not thread-safe.
class PrivatePostgres {
 public:
  // Creates the cluster if `directory` has none, starts the server and blocks until it accepts
  // connections. As root, the server runs as `postgres`, or as `nobody` if there is no such user,
  // and that user then owns the folder. The programs are searched for in $ASSAY_POSTGRES_BIN, in
  // ../lib/postgresql/*/bin next to our own program, on the PATH and in /usr/lib/postgresql/*/bin;
  // the highest version is used.
  //
  // NOT_FOUND: PostgreSQL is not installed. FAILED_PRECONDITION: a server already runs on the
  // folder, or its user cannot enter it. Other errors quote the end of the log.
  static Result<PrivatePostgres> Start(const std::string& directory,
                                       const PrivatePostgresOptions& options = {});

  PrivatePostgres(PrivatePostgres&& other) noexcept = default;
  PrivatePostgres& operator=(PrivatePostgres&& other) noexcept {
    std::swap(setup_, other.setup_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~PrivatePostgres() { Stop(); }

  // Returns a connection string for libpq. It holds no secret.
  std::string ConnectionString(const std::string& database = "postgres") const;

  // Rolls back open transactions, disconnects all clients and blocks until the server has ended. No
  // effect on a server that has ended.
  void Stop();
  // Simulates a power cut: kills the server and its children, and waits for their end.
  void Kill();
  // Starts the server again; stops it first if it still runs.
  Status Restart();

  // Becomes readable when the server has ended; for poll(2).
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
  std::unique_ptr<Subprocess> process_;
};

// Returns the last lines of a file from offset `begin` on, each indented by two spaces; empty if
// the file cannot be read.
std::string LogTail(const std::string& path, size_t begin = 0);

}  // namespace assay
