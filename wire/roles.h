// Roles of callers, and which role may call which method. Enforced before any handler runs, by
// AccessControl in wire/access.h; docs/reference/roles.md is generated from the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// The users' roles come first, each including those before it.
enum class Role {
  kNone,
  kViewer,
  kSubmitter,
  kOperator,
  kAdmin,
  // Anyone on a port without client certificates, which is on loopback or was started with
  // --insecure. May call everything.
  kLocalAdmin,
  kNode,
  kCoordinator,
  // A reverse proxy. Speaks for the client whose certificate it forwards, and never for itself.
  kProxy,
};

// Returns "viewer", "node", ...; "none" for kNone.
std::string_view RoleName(Role role);
// Returns the role of that name; kNone if no certificate can have it.
Role ParseRole(std::string_view name);

// The identity that a certificate proves.
struct Identity {
  Role role = Role::kNone;
  std::string fleet;
  // The id within the fleet: of a node its node_id, of a user a name.
  std::string id;
  std::string name;    // The name of a node; empty for others.
  std::string serial;  // The certificate's serial number in hexadecimal.
};

// The caller on a port without client certificates.
inline const Identity kLocalAdmin = {.role = Role::kLocalAdmin};

// One row of the table: who may call a method.
struct MethodAccess {
  std::string_view method;  // For example "/assay.v1.NodeService/ListNodes".
  Role least_user;          // The least role of users; kNone: no user.
  bool node;
  bool coordinator;
};

// Returns the table, one row per method of every service.
std::span<const MethodAccess> AccessTable();

// Returns true if `role` may call `method`. A method without a row is allowed to kLocalAdmin alone.
bool Allows(Role role, std::string_view method);

// Reads "spiffe://FLEET/ROLE/ID" into an identity without name and serial. INVALID_ARGUMENT if it
// has another form, an unknown role, or parts that are empty or longer than 200 bytes.
Result<Identity> ParseSpiffeId(std::string_view uri);

}  // namespace assay
