// Sets up a fleet that other machines and users can join, for `assay up --public`. The coordinator
// has a certificate authority. The agent and the user on this machine enrol in the same way as
// those on other machines.
#pragma once

#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::cli {

// Where a public coordinator listens and how others reach it.
struct PublicFleet {
  HostPort advertise;       // For gRPC.
  HostPort advertise_join;  // For joining.
  std::string listen;       // HOST:PORT for gRPC.
  std::string join;         // HOST:PORT for joining.
  std::string authority;    // Folder of the authority.

  // Checks the addresses. `host` is the name or IP address under which others reach this machine.
  static Result<PublicFleet> Make(const std::string& host, const std::string& listen,
                                  const std::string& join, const std::string& authority);

  // Returns the coordinator's options.
  std::vector<std::string> CoordinatorOptions() const;

  // Enrols the key in `folder` as a node of the fleet, unless it is already enrolled. Creates the
  // required invite in `database`, which must be in use by a running coordinator.
  Status EnrolAgent(const std::string& folder, const std::string& database) const;

  // Logs this machine's user in as an admin of the fleet. Returns the name of the user's context
  // for the fleet, which is the advertised host. If the user is already logged in, does not change
  // the current context.
  Result<std::string> EnrolUser(const std::string& database) const;

 private:
  struct Invite {
    identity::JoinPoint join;
    std::string token;
  };
  Result<Invite> MakeInvite(const std::string& role, const std::string& name,
                            const std::string& database) const;
  // Returns true unless the folder has an identity of this fleet that can be renewed.
  Result<bool> NeedsInvite(const std::string& folder) const;
};

// Returns an address at which to connect to a server that listens on `address`.
std::string Dialable(const std::string& address);

// Returns the name of this host.
std::string HostName();

}  // namespace assay::cli
