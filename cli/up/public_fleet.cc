#include "cli/up/public_fleet.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/contexts/context_file.h"
#include "cli/contexts/login.h"
#include "cli/up/child_program.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/subprocess.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr Duration kInviteTimeout = std::chrono::seconds(60);
// Certificates can be renewed for 30 days after their end. One day less leaves a margin.
constexpr Duration kRenewable = std::chrono::hours(24 * 29);
constexpr size_t kMaxCertificateBytes = 64 << 10;
// The name of a user may have been taken by an earlier login of the same person.
constexpr int kMostNames = 20;

// Returns the name of the user who runs this program, in the letters that a fleet allows.
std::string UserName() {
  const passwd* entry = ::getpwuid(::geteuid());
  const std::string name = entry != nullptr ? entry->pw_name : "";
  const bool allowed = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("-._", c) != nullptr);
  });
  return name.empty() || name.size() > 50 || !allowed ? "admin" : name;
}

}  // namespace

std::string Dialable(const std::string& address) {
  Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return address;
  if (parsed->host == "0.0.0.0") parsed->host = "127.0.0.1";
  if (parsed->host == "::") parsed->host = "::1";
  return parsed->ToString();
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

Result<PublicFleet> PublicFleet::Make(const std::string& host, const std::string& listen,
                                      const std::string& join, const std::string& authority) {
  PublicFleet fleet;
  fleet.listen = listen;
  fleet.join = join;
  fleet.authority = authority;
  const bool bare = std::count(host.begin(), host.end(), ':') > 1 && host.front() != '[';
  const std::string written = bare ? "[" + host + "]" : host;
  const auto advertised = [&](const char* flag, const std::string& address,
                              HostPort& result) -> Status {
    const Result<HostPort> listens = ParseHostPort(address);
    if (!listens.ok()) return listens.status().WithContext(flag);
    if (listens->port == 0) {
      return InvalidArgument(std::string(flag) +
                             ": with --public, the port must not be 0, because "
                             "others are told it");
    }
    const Result<HostPort> parsed = ParseHostPort(written + ":" + std::to_string(listens->port));
    if (!parsed.ok() || !CheckContextName(parsed->host).ok()) {
      return InvalidArgument("--public: " + Quote(host) + " is not a host name or an IP address");
    }
    result = *parsed;
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(advertised("--listen", listen, fleet.advertise));
  ASSAY_RETURN_IF_ERROR(advertised("--join", join, fleet.advertise_join));
  return fleet;
}

std::vector<std::string> PublicFleet::CoordinatorOptions() const {
  return {"--ca",   authority, "--advertise",      advertise.ToString(),
          "--join", join,      "--advertise-join", advertise_join.ToString()};
}

Result<PublicFleet::Invite> PublicFleet::MakeInvite(const std::string& role,
                                                    const std::string& name,
                                                    const std::string& database) const {
  SubprocessOptions options;
  options.argv = {ExecutableDirectory() + "/assay-coordinator", "--listen", listen};
  const std::vector<std::string> common = CoordinatorOptions();
  options.argv.insert(options.argv.end(), common.begin(), common.end());
  options.argv.insert(options.argv.end(), {"invite", "--role", role, "-o", "json"});
  if (!name.empty()) options.argv.insert(options.argv.end(), {"--name", name});
  options.environment = EnvironmentWith({"ASSAY_DATABASE=" + database});
  options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output, RunCommand(options, kInviteTimeout));
  // Log lines may come first.
  std::string last;
  for (const std::string_view line : Split(output.output, '\n')) {
    if (line.starts_with('{')) last = line;
  }
  const auto json = nlohmann::json::parse(last, nullptr, false);
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>()
               : std::string();
  };
  Invite invite;
  // The advertised host may be unreachable from this machine, for example behind a router.
  invite.join = {"https://" + Dialable(join), text("pin")};
  invite.token = text("token");
  if (output.exit.ok() && !invite.token.empty()) return invite;
  return FailedPrecondition("assay-coordinator made no invite", Reason::kChildFailed)
      .WithHint("its output:\n" + output.output);
}

Result<bool> PublicFleet::NeedsInvite(const std::string& folder) const {
  ASSAY_ASSIGN_OR_RETURN(const auto enrolled, identity::LoadEnrolled(folder));
  if (!enrolled || Clock::Real().WallNow() > enrolled->expire_time + kRenewable) return true;
  ASSAY_ASSIGN_OR_RETURN(const std::string ours,
                         ReadFile(authority + "/ca.pem", kMaxCertificateBytes));
  const Result<std::string> theirs = ReadFile(enrolled->authority_file(), kMaxCertificateBytes);
  if (!theirs.ok() || *theirs != ours) return true;
  // The identity needs an invite if an admin has removed it.
  return identity::RenewByKey(*enrolled).status().code() == Code::kUnauthenticated;
}

Status PublicFleet::EnrolAgent(const std::string& folder, const std::string& database) const {
  ASSAY_ASSIGN_OR_RETURN(const bool needs_invite, NeedsInvite(folder));
  if (!needs_invite) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const Invite invite, MakeInvite("node", "", database));
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(folder));
  return identity::Join(folder, invite.join, invite.token, HostName()).status();
}

Result<std::string> PublicFleet::EnrolUser(const std::string& database) const {
  const std::string folder = ContextFolder();
  const std::string& name = advertise.host;
  const std::string coordinator = Dialable(listen);
  ASSAY_ASSIGN_OR_RETURN(const ContextFile contexts, LoadContexts(folder));
  if (const auto found = contexts.contexts.find(name);
      found != contexts.contexts.end() && !found->second.identity.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const bool needs_invite, NeedsInvite(found->second.identity));
    if (!needs_invite && found->second.coordinator == coordinator) return name;
    if (!needs_invite) {
      ASSAY_RETURN_IF_ERROR(ChangeContexts(folder, [&](ContextFile& file) {
        file.contexts[name].coordinator = coordinator;
        return Status::Ok();
      }));
      return name;
    }
  }
  const std::string user = UserName();
  for (int i = 1;; ++i) {
    ASSAY_ASSIGN_OR_RETURN(
        const Invite invite,
        MakeInvite("admin", i == 1 ? user : user + "-" + std::to_string(i), database));
    const Status logged_in = Login(folder, name, invite.join, invite.token, coordinator).status();
    if (logged_in.ok()) return name;
    if (logged_in.reason() != Reason::kNodeNameTaken || i == kMostNames) return logged_in;
  }
}

}  // namespace assay::cli
