// Runs a private PostgreSQL server with all its files in one folder, for `assay up` and for tests.
// Does not affect other PostgreSQL servers on the system. The folder contains
//
//   data            the database cluster
//   postgres.log    the server's log
//   socket          the server's socket (elsewhere if this path would be too long)
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
  // The port on 127.0.0.1 on which the server also listens for TCP connections, if set. Only the
  // read-only role assay_reader can connect there.
  std::optional<int> tcp_port;
  // The account that the server uses if this process runs as root.
  std::string account = "postgres";
  // If true, the kernel kills the server when the thread that called Start ends.
  bool die_with_parent = false;
  // Time limit for initdb, and separately for starting the server, including crash recovery.
  Duration start_timeout = std::chrono::minutes(2);
};

// A running PostgreSQL server, stopped by the destructor. Every connection through the server's
// socket has superuser rights, but the folder has mode 0700, so only root and the user that runs
// the server can open the socket. Not thread-safe.
class PrivatePostgres {
 public:
  // Starts a server in `directory` and blocks until it accepts connections. Creates a database
  // cluster first if there is none. PostgreSQL refuses to run as root, so if this process runs as
  // root, the server runs as `options.account`, which becomes the owner of `directory`. Uses the
  // PostgreSQL programs in $ASSAY_POSTGRES_BIN or, if it is not set, the first ones found in
  // ../lib/postgresql/*/bin next to this program, the PATH, and /usr/lib/postgresql/*/bin. Returns
  // - NOT_FOUND if PostgreSQL is not installed;
  // - FAILED_PRECONDITION if a server is already running in `directory`, or if the server's user
  //   does not exist or cannot access `directory`.
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

  // Stops the server and waits for its process to exit. Rolls back open transactions and
  // disconnects all clients. Does nothing if the server has already exited.
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

// Returns the last lines of a log file, each indented by two spaces. Ignores the first `begin`
// bytes of the file, which may be output from earlier runs. Returns an empty string if the file
// cannot be read.
std::string LogTail(const std::string& path, size_t begin = 0);

}  // namespace assay
