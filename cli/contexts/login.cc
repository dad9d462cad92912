#include "cli/contexts/login.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/file.h"
#include "common/host_port.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "identity/invite_token.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kNodeRole[] = "node";

std::string ThisHost() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// Enrols the user's key in `folder` with the fleet and returns the identity. If another user of the
// fleet already has this key, enrols a new key in the folder `spare`.
//
// If `spare` already exists, uses its key from the start, because an earlier attempt may have
// enrolled that key without receiving the response.
Result<identity::Enrolled> Enrol(const std::string& folder, const std::string& spare,
                                 const identity::JoinPoint& join, const std::string& token) {
  const std::string& first = fs::exists(spare) ? spare : folder;
  const bool existed = fs::exists(first);
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(first));
  Result<identity::Enrolled> enrolled = identity::Join(first, join, token, ThisHost());
  if (!enrolled.ok() && enrolled.status().reason() == Reason::kKeyTaken) {
    fs::remove_all(spare);
    ASSAY_RETURN_IF_ERROR(MakePrivateFolder(spare));
    enrolled = identity::Join(spare, join, token, ThisHost());
  }
  if (enrolled.ok()) return enrolled;
  // Keep a key that may have been enrolled, because the next attempt needs it.
  const Code code = enrolled.status().code();
  if (code == Code::kUnavailable || code == Code::kInternal) return enrolled;
  fs::remove_all(spare);
  if (!existed) fs::remove_all(first);
  return enrolled;
}

Result<identity::Enrolled> EnrolAndReplace(const std::string& folder,
                                           const identity::JoinPoint& join,
                                           const std::string& token) {
  const std::string spare = folder + ".new";
  ASSAY_ASSIGN_OR_RETURN(identity::Enrolled enrolled, Enrol(folder, spare, join, token));
  if (enrolled.role == kNodeRole) {
    fs::remove_all(enrolled.folder);
    return FailedPrecondition("the invite was for a node, " + Quote(enrolled.name) +
                              ", and is used up now")
        .WithHint(
            "paste the line of a node's invite on the node; for a user, ask an admin for: "
            "assay user invite");
  }
  if (enrolled.folder != spare) return enrolled;
  fs::remove_all(folder);
  fs::rename(spare, folder);
  enrolled.folder = folder;
  return enrolled;
}

}  // namespace

Result<std::string> HostOfUrl(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : "";
  if (rest.ends_with('/')) rest.pop_back();
  const Result<HostPort> address = ParseHostPort(rest);
  if (address.ok() && address->port != 0) return address->host;
  return InvalidArgument(Quote(url) + " is not https://HOST:PORT");
}

Result<identity::Enrolled> Login(const std::string& folder, const std::string& name,
                                 const identity::JoinPoint& join, const std::string& token,
                                 const std::string& coordinator) {
  ASSAY_RETURN_IF_ERROR(CheckContextName(name));
  ASSAY_RETURN_IF_ERROR(identity::ParseInviteToken(token).status());
  Result<identity::Enrolled> enrolled = Status(Code::kUnknown, Reason::kInternal, "");
  // The file of contexts remains locked during this call, so that two logins do not mix their keys.
  ASSAY_RETURN_IF_ERROR(ChangeContexts(folder, [&](ContextFile& file) {
    const std::string identity = folder + "/identities/" + name;
    ASSAY_RETURN_IF_ERROR(MakePrivateFolder(folder + "/identities"));
    try {
      enrolled = EnrolAndReplace(identity, join, token);
    } catch (const fs::filesystem_error& error) {
      enrolled = FailedPrecondition("cannot store the identity in " + identity + ": " +
                                    error.code().message());
    }
    ASSAY_RETURN_IF_ERROR(enrolled.status());
    file.contexts[name] = {coordinator, identity, {}};
    file.current = name;
    return Status::Ok();
  }));
  return enrolled;
}

Result<bool> Logout(const std::string& folder, const std::string& name) {
  bool was_current = false;
  std::string identity;
  ASSAY_RETURN_IF_ERROR(ChangeContexts(folder, [&](ContextFile& file) {
    ASSAY_ASSIGN_OR_RETURN(const FleetContext context, FindContext(file, name));
    identity = context.identity;
    file.contexts.erase(name);
    was_current = file.current == name;
    if (was_current) file.current.clear();
    return Status::Ok();
  }));
  std::error_code error;
  if (identity == folder + "/identities/" + name) fs::remove_all(identity, error);
  return was_current;
}

}  // namespace assay::cli
