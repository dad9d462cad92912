// Stores who may join the fleet and who has joined: invites, identities and their bans, and refused
// attempts to enrol. Implementations must pass tests/contract/identity_store_contract.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::storage {

// The period after the expiry of a certificate in which its key can still renew it.
inline constexpr Duration kRenewable = std::chrono::hours(24 * 30);
// The period for which an identity that has ended is kept. Its name stays taken for as long.
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

// A store of invites, identities and refused attempts. Thread-safe. Calls block on the database.
class IdentityStore {
 public:
  virtual ~IdentityStore() = default;

  virtual Status CreateInvite(const StoredInvite& invite) = 0;
  // Returns nullopt if there is no such invite.
  virtual Result<std::optional<StoredInvite>> GetInvite(const std::string& invite_id) = 0;
  // Returns the newest `limit` invites, newest first.
  virtual Result<std::vector<v1::Invite>> ListInvites(int limit) = 0;
  // Does nothing if the invite has been revoked already. Returns NOT_FOUND if it does not exist.
  virtual Status RevokeInvite(const std::string& invite_id, WallTime now) = 0;

  // Enrols a key using an invite, atomically: gives the key an identity with the scope of the
  // invite (its role, labels and so on). If the key already has an identity, keeps it and replaces
  // its scope. An invite is bound to the first key that uses it. If that key uses the invite again,
  // it gets the same identity.
  virtual Result<EnrolOutcome> Enrol(const Enrolling& enrolling) = 0;

  // Returns the identity with this id or name. If there is none, returns NOT_FOUND, with a hint if
  // there is a similar name.
  virtual Result<v1::EnrolledIdentity> GetIdentity(const std::string& id_or_name) = 0;
  // Returns the identity with this key, or nullopt.
  virtual Result<std::optional<v1::EnrolledIdentity>> FindKey(const std::string& key_hash) = 0;
  // Stores the newest certificate of a key. Returns false if no identity has this key, or if the
  // identity is banned.
  virtual Result<bool> SetCertificate(const std::string& key_hash, const std::string& serial,
                                      WallTime certificate_expire_time) = 0;
  // Returns up to `limit` identities with the given role, sorted by name, starting after `name`. An
  // empty `role` matches all roles.
  virtual Result<std::vector<v1::EnrolledIdentity>> ListIdentities(const std::string& role,
                                                                   const std::string& name,
                                                                   int limit) = 0;

  struct Identities {
    // Increases whenever an identity is created, banned, unbanned or removed, or its scope changes.
    int64_t revision = 0;
    std::vector<v1::EnrolledIdentity> identities;
  };
  // Returns all identities, or nullopt if nothing has changed since `revision`.
  virtual Result<std::optional<Identities>> ListChanged(int64_t revision) = 0;

  // Ban or unban an identity, and return the updated identity or NOT_FOUND. Banning an identity
  // again replaces `reason` and `by`.
  virtual Result<v1::EnrolledIdentity> Ban(const std::string& id_or_name, const std::string& reason,
                                           const std::string& by, WallTime now) = 0;
  virtual Result<v1::EnrolledIdentity> Unban(const std::string& id_or_name) = 0;
  // Removes an identity. Returns NOT_FOUND if it does not exist, and FAILED_PRECONDITION if it is
  // banned.
  virtual Status RemoveIdentity(const std::string& id_or_name) = 0;

  // Removes ephemeral nodes, along with their identities, if they have not sent a heartbeat for
  // `absence` and their certificates have expired. Keeps nodes that are banned or have a job.
  // Returns the names of the removed nodes.
  virtual Result<std::vector<std::string>> RemoveAbsent(Duration absence, WallTime now) = 0;
  // Removes identities that ended more than kKeptAfterEnd ago or whose certificate expired more
  // than kRenewable ago, except banned ones. Also removes invites that ended more than kRenewable
  // ago.
  virtual Status RemoveOld(WallTime now) = 0;

  // Stores a refused attempt and removes the oldest beyond kKeptAttempts.
  virtual Status AddAttempt(const v1::EnrolmentAttempt& attempt) = 0;
  // Returns the attempts, newest first.
  virtual Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() = 0;
};

}  // namespace assay::storage
