// Stores who belongs to the fleet: invites, identities with their bans, and refused attempts to
// enrol. Implementations must pass tests/contract/identity_store_contract.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::storage {

// Time after the end of its certificate in which a key can still renew it.
inline constexpr Duration kRenewable = std::chrono::hours(24 * 30);
// Time after its own end for which an identity is kept, and its name with it.
inline constexpr Duration kKeptAfterEnd = std::chrono::hours(24);
// Number of refused attempts that are kept.
inline constexpr int kKeptAttempts = 1000;

struct StoredInvite {
  v1::Invite invite;
  std::string secret_hash;  // Hexadecimal.
};

// A key that asks to be enrolled with an invite whose secret it knows.
struct Enrolling {
  std::string invite_id;
  std::string key_hash;
  // Used if the key has no identity yet: the id of a node, and its name unless the invite has one.
  std::string node_id;
  std::string host_name;
  // The certificate that is issued if this succeeds.
  std::string serial;
  WallTime certificate_expire_time{};
  WallTime now{};
};

struct EnrolOutcome {
  enum class Kind {
    kEnrolled,
    kUnknown,    // There is no such invite.
    kExpired,    // The invite has expired.
    kRevoked,    // The invite was revoked.
    kUsed,       // Another key has used the invite.
    kBanned,     // The identity of the key is banned: `identity`.
    kNameTaken,  // The identity `identity` has the invite's name.
    kKeyTaken,   // The key belongs to `identity`, whose role or name the invite does not give.
  };
  Kind kind = Kind::kUnknown;
  v1::EnrolledIdentity identity;
  v1::Invite invite;
};

// Thread-safe. Calls block on the database.
class IdentityStore {
 public:
  virtual ~IdentityStore() = default;

  virtual Status CreateInvite(const StoredInvite& invite) = 0;
  // Returns nullopt if there is no such invite.
  virtual Result<std::optional<StoredInvite>> GetInvite(const std::string& invite_id) = 0;
  // Returns the newest `limit` invites, newest first.
  virtual Result<std::vector<v1::Invite>> ListInvites(int limit) = 0;
  // Does nothing if the invite was revoked before. NOT_FOUND.
  virtual Status RevokeInvite(const std::string& invite_id, WallTime now) = 0;

  // Uses an invite: makes an identity for the key, or gives its identity the invite's scope. The
  // invite is bound to the first key that uses it. The same key may ask again, and gets the same
  // identity. Happens as a whole or not at all.
  virtual Result<EnrolOutcome> Enrol(const Enrolling& enrolling) = 0;

  // Returns the identity of this id or name. NOT_FOUND; the hint is the closest name.
  virtual Result<v1::EnrolledIdentity> GetIdentity(const std::string& id_or_name) = 0;
  // Returns the identity with this key, or nullopt.
  virtual Result<std::optional<v1::EnrolledIdentity>> FindKey(const std::string& key_hash) = 0;
  // Stores the newest certificate of a key. Returns false if no identity has the key or if it is
  // banned.
  virtual Result<bool> SetCertificate(const std::string& key_hash, const std::string& serial,
                                      WallTime certificate_expire_time) = 0;
  // Returns the first `limit` identities of a role whose names sort after `name`, by name. An empty
  // role stands for all roles.
  virtual Result<std::vector<v1::EnrolledIdentity>> ListIdentities(const std::string& role,
                                                                   const std::string& name,
                                                                   int limit) = 0;

  struct Identities {
    // Grows whenever an identity is made, banned, unbanned or removed, or gets another scope.
    int64_t revision = 0;
    std::vector<v1::EnrolledIdentity> identities;
  };
  // Returns all identities, or nullopt if nothing has changed since `revision`.
  virtual Result<std::optional<Identities>> ListChanged(int64_t revision) = 0;

  // These return the identity afterwards, or NOT_FOUND. A further ban replaces reason and actor.
  virtual Result<v1::EnrolledIdentity> Ban(const std::string& id_or_name, const std::string& reason,
                                           const std::string& by, WallTime now) = 0;
  virtual Result<v1::EnrolledIdentity> Unban(const std::string& id_or_name) = 0;
  // Removes an identity. NOT_FOUND; FAILED_PRECONDITION if it is banned.
  virtual Status RemoveIdentity(const std::string& id_or_name) = 0;

  // Removes the ephemeral nodes that have sent no heartbeat within the last `absence` and whose
  // certificate has expired, and their identities. Keeps those that are banned or have a job.
  // Returns their names.
  virtual Result<std::vector<std::string>> RemoveAbsent(Duration absence, WallTime now) = 0;
  // Removes identities, unless they are banned, that ended more than kKeptAfterEnd ago or whose
  // certificate ended more than kRenewable ago. Removes invites that ended more than kRenewable
  // ago.
  virtual Status RemoveOld(WallTime now) = 0;

  // Stores a refused attempt and removes the oldest beyond kKeptAttempts.
  virtual Status AddAttempt(const v1::EnrolmentAttempt& attempt) = 0;
  // Returns the attempts, newest first.
  virtual Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() = 0;
};

}  // namespace assay::storage
