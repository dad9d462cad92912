#include "cli/up/private_postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "common/digest.h"
#include "common/file.h"
#include "common/text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

using User = std::optional<std::pair<uid_t, gid_t>>;

// sockaddr_un holds 108 bytes with the final zero.
constexpr size_t kMaxSocketPath = 107;
constexpr std::string_view kSocketName = "/.s.PGSQL.5432";

std::string ErrnoText(int error) { return std::strerror(error); }

bool HasPrograms(const fs::path& folder) {
  return ::access((folder / "postgres").c_str(), X_OK) == 0 &&
         ::access((folder / "initdb").c_str(), X_OK) == 0;
}

// Returns <parent>/<version>/bin of the highest version that has the programs.
std::optional<std::string> HighestVersion(const fs::path& parent) {
  std::optional<std::string> best;
  int best_version = -1;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version <= best_version || !HasPrograms(entry.path() / "bin")) continue;
    best_version = version;
    best = (entry.path() / "bin").string();
  }
  return best;
}

Result<std::string> FindPrograms() {
  if (const char* given = std::getenv("ASSAY_POSTGRES_BIN"); given != nullptr && *given != '\0') {
    if (HasPrograms(given)) return std::string(given);
    return NotFound("ASSAY_POSTGRES_BIN is " + std::string(given) +
                        ", but that folder has no runnable postgres and initdb",
                    Reason::kPostgresNotFound);
  }
  const fs::path own = fs::path(ExecutableDirectory()).parent_path() / "lib/postgresql";
  if (const auto bundled = HighestVersion(own)) return *bundled;
  const char* variable = std::getenv("PATH");
  std::istringstream path(variable ? variable : "");
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty() && HasPrograms(folder)) return folder;
  }
  if (const auto installed = HighestVersion("/usr/lib/postgresql")) return *installed;
  return NotFound("PostgreSQL's server programs (postgres, initdb) were not found",
                  Reason::kPostgresNotFound)
      .WithHint("install the package postgresql, or set ASSAY_POSTGRES_BIN to their folder");
}

// Returns the user that runs the PostgreSQL server. PostgreSQL refuses to run as root, so if this
// process runs as root, returns `account`. Do not run other programs as that user, because they
// could connect to the database as superusers.
Result<User> ChooseUser(const std::string& account) {
  if (::geteuid() != 0) return User();
  if (const passwd* entry = ::getpwnam(account.c_str()); entry != nullptr && entry->pw_uid != 0) {
    return User({entry->pw_uid, entry->pw_gid});
  }
  return FailedPrecondition("PostgreSQL does not run as root, and there is no user " + account,
                            Reason::kPostgresStart)
      .WithHint("start this program as another user, or make one: useradd --system " + account);
}

// Checks that `user` may enter every folder on the way to `folder`.
Status CheckReachable(const std::string& folder, const User& user) {
  if (!user) return Status::Ok();
  fs::path walked;
  for (const fs::path& part : fs::path(folder)) {
    walked /= part;
    struct stat info {};
    if (::stat(walked.c_str(), &info) != 0) {
      return NotFound("cannot use " + walked.string() + ": " + ErrnoText(errno));
    }
    const mode_t needed = info.st_uid == user->first    ? S_IXUSR
                          : info.st_gid == user->second ? S_IXGRP
                                                        : S_IXOTH;
    if ((info.st_mode & needed) != 0) continue;
    const passwd* entry = ::getpwuid(user->first);
    const std::string name = entry != nullptr ? entry->pw_name : std::to_string(user->first);
    return FailedPrecondition("PostgreSQL runs as user " + name + ", which may not enter " +
                                  walked.string() + " on the way to " + folder,
                              Reason::kFolderUnreachable)
        .WithHint(
            "choose a folder elsewhere, for example under /var/lib, or allow it with: "
            "chmod o+x " +
            walked.string());
  }
  return Status::Ok();
}

// Creates a folder with mode 0700, owned by `user` or, if that is not set, by the current user. If
// the folder exists and belongs to `user` or the current user, sets its owner and mode instead.
// Fails if `path` is a symbolic link or belongs to anyone else.
Status MakePrivateFolder(const std::string& path, const User& user) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailedPrecondition("cannot make the folder " + path + ": " + ErrnoText(errno));
  }
  struct stat info {};
  const uid_t owner = user ? user->first : ::geteuid();
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return FailedPrecondition(path + " is in the way: it is not a folder");
  }
  if (info.st_uid != ::geteuid() && info.st_uid != owner) {
    return FailedPrecondition(path + " belongs to another user (uid " +
                              std::to_string(info.st_uid) + "); choose another folder");
  }
  if (user && ::chown(path.c_str(), user->first, user->second) != 0) {
    return FailedPrecondition("cannot give " + path + " to PostgreSQL's user: " + ErrnoText(errno));
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return FailedPrecondition("cannot set the mode of " + path + ": " + ErrnoText(errno));
  }
  return Status::Ok();
}

std::string SocketFolder(const std::string& directory) {
  std::string folder = directory + "/socket";
  if (folder.size() + kSocketName.size() < kMaxSocketPath) return folder;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool usable = ::geteuid() != 0 && runtime != nullptr && *runtime == '/' &&
                      std::strlen(runtime) < 60 && ::access(runtime, W_OK) == 0;
  return std::string(usable ? runtime : "/tmp") + "/assay-pg-" + Sha256Hex(directory).substr(0, 16);
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Returns an error if a PostgreSQL server is running on the data folder. Otherwise, removes any
// lock file left behind by a crash, because another program may now have the process id in that
// file. PostgreSQL would mistake that program for a server and refuse to start.
Status CheckNotRunning(const std::string& data) {
  const std::string lock = data + "/postmaster.pid";
  const std::vector<std::string> lines = LinesOf(lock);
  if (lines.empty()) return Status::Ok();
  std::error_code error;
  const fs::path home = fs::read_symlink("/proc/" + lines[0] + "/cwd", error);
  if (!error && fs::equivalent(home, data, error)) {
    return FailedPrecondition(
               "a PostgreSQL (process " + lines[0] + ") runs on " + data + " already",
               Reason::kAlreadyRunning)
        .WithHint("stop the other program that uses this folder, or choose another folder");
  }
  fs::remove(lock, error);
  return Status::Ok();
}

std::vector<std::string> ServerEnvironment() {
  return {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
}

// Waits until PostgreSQL accepts connections, that is, until it has written "ready" to its lock
// file.
Status AwaitReady(const std::string& data, Subprocess& server, Duration timeout,
                  const std::string& log) {
  constexpr std::chrono::milliseconds kPause{10};
  const MonotonicTime deadline = Clock::Real().Now() + timeout;
  while (true) {
    const std::vector<std::string> lines = LinesOf(data + "/postmaster.pid");
    if (lines.size() >= 8 && lines[0] == std::to_string(server.pid()) &&
        lines[7].starts_with("ready")) {
      return Status::Ok();
    }
    if (Clock::Real().Now() >= deadline) {
      return Status(Code::kDeadlineExceeded, Reason::kPostgresStart,
                    "PostgreSQL did not become ready in time; its log ends:\n" + LogTail(log));
    }
    if (const auto exit = server.Wait(kPause)) {
      return Internal(
          "PostgreSQL " + exit->ToString() + " while starting; its log ends:\n" + LogTail(log),
          Reason::kPostgresStart);
    }
  }
}

}  // namespace

Status PrivatePostgres::Prepare(Setup& setup) {
  std::error_code error;
  fs::create_directories(setup.directory, error);
  if (error) {
    return FailedPrecondition("cannot make the folder " + setup.directory + ": " + error.message());
  }
  setup.directory = fs::canonical(setup.directory, error).string();
  ASSAY_ASSIGN_OR_RETURN(setup.binaries, FindPrograms());
  ASSAY_ASSIGN_OR_RETURN(setup.user, ChooseUser(setup.options.account));
  setup.socket = SocketFolder(setup.directory);
  ASSAY_RETURN_IF_ERROR(CheckReachable(setup.binaries, setup.user));
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(setup.directory, setup.user));
  return CheckReachable(setup.directory, setup.user);
}

// Creates the database cluster in a temporary folder and renames the folder at the end, so that an
// interrupted initdb never leaves an incomplete cluster under the final name.
Status PrivatePostgres::InitCluster(const Setup& setup) {
  const std::string made = setup.directory + "/data.new";
  std::error_code error;
  fs::remove_all(made, error);
  SubprocessOptions options;
  options.argv = {setup.binaries + "/initdb", "--pgdata=" + made, "--username=assay",
                  "--encoding=UTF8",          "--locale=C",       "--auth=trust",
                  "--no-instructions"};
  if (!setup.options.fsync) options.argv.push_back("--no-sync");
  options.environment = ServerEnvironment();
  options.working_directory = setup.directory;
  options.user = setup.user;
  options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output,
                         RunCommand(options, setup.options.start_timeout));
  if (!output.exit.ok()) {
    return Internal(
        "initdb " + output.exit.ToString() + " for " + setup.directory + ":\n" + output.output,
        Reason::kPostgresInit);
  }
  std::ofstream rules(made + "/pg_hba.conf", std::ios::trunc);
  rules << "local all all trust\n"
        << "host all assay_reader 127.0.0.1/32 trust\n";
  rules.close();
  fs::rename(made, setup.directory + "/data", error);
  if (!rules || error) return Internal("cannot finish the cluster in " + setup.directory);
  return Status::Ok();
}

Result<PrivatePostgres> PrivatePostgres::Start(const std::string& directory,
                                               const PrivatePostgresOptions& options) {
  Setup setup;
  std::error_code error;
  setup.directory = fs::absolute(directory, error).lexically_normal().string();
  setup.options = options;
  ASSAY_RETURN_IF_ERROR(Prepare(setup));
  if (!fs::exists(setup.directory + "/data/PG_VERSION", error)) {
    ASSAY_RETURN_IF_ERROR(InitCluster(setup));
  }
  PrivatePostgres server(std::move(setup));
  ASSAY_RETURN_IF_ERROR(server.Launch());
  return server;
}

Status PrivatePostgres::Launch() {
  const std::string data = setup_.directory + "/data";
  const std::string log = setup_.directory + "/postgres.log";
  ASSAY_RETURN_IF_ERROR(CheckNotRunning(data));
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(setup_.socket, setup_.user));
  const FileDescriptor log_file(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log_file.valid()) return Internal("cannot write " + log + ": " + ErrnoText(errno));
  SubprocessOptions options;
  const auto set = [&](const std::string& setting) {
    options.argv.insert(options.argv.end(), {"-c", setting});
  };
  options.argv = {setup_.binaries + "/postgres", "-D", data};
  set("unix_socket_directories=" + setup_.socket);
  set("unix_socket_permissions=0700");
  set(setup_.options.tcp_port ? "listen_addresses=127.0.0.1" : "listen_addresses=");
  set("port=" + std::to_string(setup_.options.tcp_port.value_or(5432)));
  // PostgreSQL knows GMT without the package tzdata, which bare images lack, but not UTC.
  for (const char* setting : {"timezone=GMT", "log_timezone=GMT", "logging_collector=off",
                              "max_connections=100", "wal_level=minimal", "max_wal_senders=0"}) {
    set(setting);
  }
  if (!setup_.options.fsync) {
    set("fsync=off");
    set("full_page_writes=off");
  }
  options.environment = ServerEnvironment();
  options.working_directory = setup_.directory;
  options.descriptors = {{1, log_file.get()}, {2, log_file.get()}};
  options.user = setup_.user;
  options.die_with_parent = setup_.options.die_with_parent;
  ASSAY_ASSIGN_OR_RETURN(Subprocess server, Subprocess::Spawn(options));
  process_ = std::make_unique<Subprocess>(std::move(server));
  return AwaitReady(data, *process_, setup_.options.start_timeout, log);
}

std::string PrivatePostgres::ConnectionString(const std::string& database) const {
  const auto quoted = [](const std::string& value) {
    std::string text = "'";
    for (char c : value) {
      if (c == '\'' || c == '\\') text.push_back('\\');
      text.push_back(c);
    }
    return text + "'";
  };
  return "host=" + quoted(setup_.socket) +
         " port=" + std::to_string(setup_.options.tcp_port.value_or(5432)) +
         " user=assay dbname=" + quoted(database);
}

void PrivatePostgres::Stop() {
  if (!process_) return;
  process_->Signal(SIGINT);  // Fast shutdown.
  if (!process_->Wait(std::chrono::seconds(30))) Kill();
  ::rmdir(setup_.socket.c_str());
}

void PrivatePostgres::Kill() {
  if (!process_ || process_->Wait(Duration(0))) return;
  // Kill PostgreSQL's child processes as well. They run in sessions of their own and would survive
  // the server, and no new server can start on the same data while any of them is alive.
  const std::string pid = std::to_string(process_->pid());
  std::ifstream list("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<FileDescriptor> children;
  for (pid_t child = 0; list >> child;) {
    children.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  }
  process_->Signal(SIGKILL);
  process_->Wait(std::chrono::seconds(30));
  for (const FileDescriptor& child : children) {
    if (!child.valid()) continue;
    ::syscall(SYS_pidfd_send_signal, child.get(), SIGKILL, nullptr, 0);
    pollfd watched{child.get(), POLLIN, 0};
    ::poll(&watched, 1, 10'000);
  }
}

Status PrivatePostgres::Restart() {
  Stop();
  return Launch();
}

std::string LogTail(const std::string& path, size_t begin) {
  constexpr size_t kMostLines = 15;
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return "";
  const std::string_view written = std::string_view(*text).substr(std::min(begin, text->size()));
  std::vector<std::string_view> lines = Split(written, '\n');
  if (lines.back().empty()) lines.pop_back();
  std::string tail;
  for (size_t i = lines.size() - std::min(lines.size(), kMostLines); i < lines.size(); ++i) {
    tail += "  " + Sanitize(lines[i]) + "\n";
  }
  return tail;
}

}  // namespace assay
