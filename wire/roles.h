// Defines the roles of callers and the methods that each role may call. AccessControl in
// wire/access.h enforces these rules before any handler runs. docs/reference/roles.md is generated
// from this table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// The roles of users come first. Each of them includes the roles before it.
enum class Role {
  kNone,
  kViewer,
  kSubmitter,
  kOperator,
  kAdmin,
  // Any caller on a port that does not require client certificates, either because the port is on a
  // loopback address or because the server was started with --insecure. May call everything.
  kLocalAdmin,
  kNode,
  kCoordinator,
  // A reverse proxy. Speaks for the client whose certificate it forwards, and never for itself.
  kProxy,
};

// Returns a role's name, such as "viewer" or "node". Returns "none" for kNone.
std::string_view RoleName(Role role);
// Returns the role with this name, or kNone if no certificate can have such a role.
Role ParseRole(std::string_view name);

// The identity that a certificate proves.
struct Identity {
  Role role = Role::kNone;
  std::string fleet;
  // The id within the fleet: the node_id of a node, or the name of a user.
  std::string id;
  std::string name;    // The name of a node; empty for others.
  std::string serial;  // The certificate's serial number in hexadecimal.
  // SHA-256 hash of the certificate's public key (SubjectPublicKeyInfo), in hexadecimal. A renewed
  // certificate has the same key and therefore the same hash.
  std::string key_hash;
  // When the certificate expires.
  WallTime expire_time = WallTime::max();
};

// The caller on a port without client certificates.
inline const Identity kLocalAdmin = {Role::kLocalAdmin, "", "", "", "", "", WallTime::max()};

// One row of the table: who may call a method.
struct MethodAccess {
  std::string_view method;  // For example "/assay.v1.NodeService/ListNodes".
  Role least_user;          // The least role of users; kNone: no user.
  bool node;
  bool coordinator;
};

// Returns the table, one row per method of every service.
std::span<const MethodAccess> AccessTable();

// Returns true if callers with this role may call `method`. Only kLocalAdmin may call methods that
// are not in AccessTable().
bool Allows(Role role, std::string_view method);

// Parses an identity of the form "spiffe://FLEET/ROLE/ID", setting only its fleet, role and id.
// Returns INVALID_ARGUMENT if the text has another form, if the role is unknown, or if FLEET or ID
// is empty or longer than 200 bytes.
Result<Identity> ParseSpiffeId(std::string_view uri);

}  // namespace assay
