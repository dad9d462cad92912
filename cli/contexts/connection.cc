#include "cli/contexts/connection.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "common/subprocess.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

// The least time between attempts to renew a certificate that is still valid.
constexpr std::chrono::minutes kRetry{5};

constexpr char kNewInvite[] =
    "ask an admin for a new invite, \"assay user invite\", and log in with it";

// Returns true if a renewal of the certificate was attempted within the last five minutes.
// Otherwise, records a new attempt and returns false. The time of the last attempt is the lock
// file's modification time.
bool WasTriedRecently(int lock, WallTime now) {
  struct stat info {};
  if (fstat(lock, &info) == 0 && info.st_size > 0) {
    const WallTime tried = WallTime(std::chrono::seconds(info.st_mtim.tv_sec));
    if (tried <= now && now < tried + kRetry) return true;
  }
  static_cast<void>(pwrite(lock, "\n", 1, 0));
  return false;
}

Status CannotRenew(const identity::Enrolled& enrolled, const Status& why) {
  const std::string when = schema::TimeText(schema::ToTimestamp(enrolled.expire_time));
  return Status(why.code(), why.reason(),
                "the certificate of user " + Quote(enrolled.name) + " expired at " + when +
                    " and cannot be renewed: " + why.message())
      .WithHint(why.code() == Code::kUnavailable
                    ? "check that " + enrolled.join.url + " can be reached, and try again"
                    : kNewInvite);
}

Result<identity::Enrolled> Load(const std::string& folder) {
  ASSAY_ASSIGN_OR_RETURN(const auto enrolled, identity::LoadEnrolled(folder));
  if (enrolled) return *enrolled;
  return NotFound("the identity " + folder + " does not exist", Reason::kNoIdentity)
      .WithHint(kNewInvite);
}

}  // namespace

Result<identity::Enrolled> LoadAndRenew(const std::string& folder, WallTime now) {
  ASSAY_ASSIGN_OR_RETURN(identity::Enrolled enrolled, Load(folder));
  const auto is_fresh = [&] {
    return enrolled.expire_time - now > (enrolled.expire_time - enrolled.issue_time) / 3;
  };
  if (is_fresh()) return enrolled;
  const bool valid = now < enrolled.expire_time;
  const std::string path = folder + "/renewal.lock";
  const FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || flock(lock.get(), valid ? LOCK_EX | LOCK_NB : LOCK_EX) != 0) {
    // Another program is renewing it, or the folder is read-only.
    if (valid) return enrolled;
    return FailedPrecondition("cannot lock " + path + ": " + std::strerror(errno));
  }
  ASSAY_ASSIGN_OR_RETURN(enrolled, Load(folder));
  if (is_fresh()) return enrolled;
  if (WasTriedRecently(lock.get(), now) && valid) return enrolled;
  Result<identity::Enrolled> renewed = identity::RenewByKey(enrolled);
  if (renewed.ok()) return renewed;
  if (valid) return enrolled;
  return CannotRenew(enrolled, renewed.status());
}

Result<Connection> ChooseConnection(const GivenConnection& given, const std::string& folder) {
  Connection connection{given.coordinator, given.tls};
  if (given.context.empty() && !given.coordinator.empty()) return connection;
  ASSAY_ASSIGN_OR_RETURN(const ContextFile file, LoadContexts(folder));
  const std::string& name = given.context.empty() ? file.current : given.context;
  if (name.empty()) return connection;
  ASSAY_ASSIGN_OR_RETURN(const FleetContext context, FindContext(file, name));
  if (connection.coordinator.empty()) connection.coordinator = context.coordinator;
  const bool needs_identity = given.tls.empty() || connection.coordinator.empty();
  if (context.identity.empty() || !needs_identity) {
    if (given.tls.empty()) connection.tls = context.tls;
    return connection;
  }
  const Result<identity::Enrolled> enrolled =
      LoadAndRenew(context.identity, Clock::Real().WallNow());
  if (!enrolled.ok()) return enrolled.status().WithContext("context " + Quote(name));
  if (connection.coordinator.empty()) connection.coordinator = Join(enrolled->coordinators, ",");
  if (connection.coordinator.empty()) {
    return FailedPrecondition("context " + Quote(name) + " has no coordinator")
        .WithHint("add \"coordinator: HOST:PORT\" to it in " + folder + "/config");
  }
  if (given.tls.empty()) {
    connection.tls = {enrolled->certificate_file(), enrolled->key_file(),
                      enrolled->authority_file()};
  }
  return connection;
}

}  // namespace assay::cli
