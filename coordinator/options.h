// The command line of assay-coordinator.
#pragma once

#include <optional>
#include <string>

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "coordinator/web/console.h"
#include "storage/postgres/retention.h"
#include "wire/credentials.h"

namespace assay::coordinator {

// Exit status for invalid flags.
inline constexpr int kUsageError = 2;

// Options of the fleet's own authority and of its join listener.
struct AuthorityOptions {
  std::string folder;
  std::string fleet;
  std::optional<HostPort> join;  // Absent: no join listener.
  HostPort advertise_join;       // Port 0: the port on which `join` listens.
  Duration node_certificate{0};
  std::string archive;  // Path of the node's archive. Empty: none.
};

// The subcommand `invite`.
struct InviteCommand {
  v1::CreateInviteRequest request;
  bool json = false;
};

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
  assay::rpc::TlsFiles agent_tls;  // For dialing agents.
  bool insecure = false;
  std::optional<AuthorityOptions> authority;  // Absent: there are no invites.
  std::optional<InviteCommand> invite;        // Make an invite instead of serving.
  Duration lease{0};
  Duration heartbeat{0};
  storage::Retention retention;
  double rerun_share = 0;
  Duration rerun_spacing{0};
  Duration judge_period{0};
  std::string log_level = "info";
  int ready_fd = -1;
};

// Returns the address at which agents and other coordinators can reach this one. Uses `given` or,
// if that is absent, `listens`, the address of this coordinator's own port. Returns an empty string
// if only an address such as 0.0.0.0 is known, because nothing can connect to it.
std::string AdvertisedAddress(const std::optional<HostPort>& given, const HostPort& listens);

// Parses and checks the command line and the environment. Returns nullopt if the program must exit,
// either because of an error or because the user asked for help. In that case, prints the text and
// sets `exit_status`.
std::optional<CoordinatorOptions> ParseOptions(int argc, char** argv, int& exit_status);

}  // namespace assay::coordinator
