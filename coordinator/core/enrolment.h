// Invites, enrolment and renewal: who gets a certificate of the fleet's authority.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/ban_list.h"
#include "identity/authority.h"
#include "model/page.h"
#include "storage/identity_store.h"
#include "wire/roles.h"

namespace assay::coordinator {

// Lifetimes of certificates; that of nodes may be set.
inline constexpr Duration kNodeCertificate = std::chrono::hours(1);
inline constexpr Duration kUserCertificate = std::chrono::hours(12);

// Implements the requests of IdentityService and POST /enrol. Only a coordinator with an authority
// has one. Thread-safe. All methods block on the database.
//
// A refused attempt to enrol or renew is stored with the peer's address and returned with
//   INVALID_ARGUMENT, BAD_INVITE_TOKEN      the token is no whole token: violation for "token"
//   INVALID_ARGUMENT, BAD_CERTIFICATE       the certificate request is bad: "certificate_request"
//   NOT_FOUND, UNKNOWN_INVITE               no such invite: "token"
//   FAILED_PRECONDITION, INVITE_EXPIRED     the invite has expired: "token"
//   FAILED_PRECONDITION, CLOCK_SKEW         the sender's clock is wrong: "time"
//   PERMISSION_DENIED, INVITE_USED          another key has used the invite: "token"
//   PERMISSION_DENIED, INVITE_REVOKED       the invite was revoked: "token"
//   PERMISSION_DENIED, BANNED               the key is banned: "identity"
//   ALREADY_EXISTS, NODE_NAME_TAKEN         another has the invite's name: "name"
//   ALREADY_EXISTS, KEY_TAKEN               the key is another's: "certificate_request"
//   UNAUTHENTICATED, NO_IDENTITY            the key is not enrolled, or its enrolment has ended
// A further attempt can succeed only after UNAVAILABLE and INTERNAL, which are not stored.
class Enrolment {
 public:
  // All must outlive the Enrolment. `coordinators` are the addresses, HOST:PORT, that enrolled
  // nodes and users are told. `node_certificate` is the life of a node's certificate.
  Enrolment(const identity::Authority& authority, const Clock& clock, storage::IdentityStore& store,
            BanList& bans, std::vector<std::string> coordinators,
            Duration node_certificate = kNodeCertificate);

  // Enrols a key with the token of an invite. Without a token, renews the certificate of an
  // enrolled key, also for 30 days after it has expired. `address` is the peer's.
  Result<v1::EnrolResponse> Enrol(const v1::EnrolRequest& request, const std::string& address);
  // Renews the caller's certificate. The request must be for the caller's own key.
  Result<v1::RenewCertificateResponse> Renew(const v1::RenewCertificateRequest& request,
                                             const Identity& caller, const std::string& address);

  // The response has no `command`; the transport knows its addresses.
  Result<v1::CreateInviteResponse> CreateInvite(const v1::CreateInviteRequest& request,
                                                const Identity& caller);
  Result<std::vector<v1::Invite>> ListInvites();
  Status RevokeInvite(const std::string& invite_id);

  // Sorted by name.
  Result<Page<v1::EnrolledIdentity>> ListIdentities(const std::string& role,
                                                    const PageRequest& request);
  Result<v1::EnrolledIdentity> Ban(const v1::BanIdentityRequest& request, const Identity& caller);
  Result<v1::EnrolledIdentity> Unban(const std::string& id_or_name);
  Status RemoveIdentity(const std::string& id_or_name);
  Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() { return store_.ListAttempts(); }

  // Removes ephemeral nodes that were absent for an hour, and old records. The leader calls it in
  // every poll. Removes nothing within an hour after the first call or one that failed, because
  // heartbeats may not have been noted before, nor after the wall's clock was set.
  Status RemoveGone();

 private:
  struct Attempt {
    std::string address;
    std::string subject;  // Known invite or identity.
  };

  Result<v1::EnrolResponse> EnrolWithToken(const v1::EnrolRequest& request, Attempt& attempt);
  Result<v1::EnrolResponse> RenewByKey(const v1::EnrolRequest& request, Attempt& attempt);
  Result<std::string> RenewKey(const identity::RequestedKey& key,
                               const v1::EnrolledIdentity& identity, Attempt& attempt);
  // Issues a certificate in PEM.
  Result<std::string> Issue(const identity::RequestedKey& key, const v1::EnrolledIdentity& identity,
                            const std::string& serial, WallTime expire_time) const;
  v1::EnrolResponse ResponseFor(const v1::EnrolledIdentity& identity, std::string chain) const;
  // Returns INVALID_ARGUMENT with all errors of the scope.
  Status CheckInvite(const v1::CreateInviteRequest& request) const;
  Status CheckClock(const v1::EnrolRequest& request) const;
  // Returns when a certificate that is issued now ends.
  WallTime CertificateEnd(const std::string& role,
                          const google::protobuf::Timestamp* identity_end) const;
  // Stores a refusal.
  void Note(const Status& refusal, const Attempt& attempt);

  const identity::Authority& authority_;
  const Clock& clock_;
  storage::IdentityStore& store_;
  BanList& bans_;
  const std::vector<std::string> coordinators_;
  const Duration node_certificate_;

  Mutex mutex_;
  // Attempts that may be stored now, because a peer must not fill the database.
  double budget_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime budget_time_ ASSAY_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> watched_since_ ASSAY_GUARDED_BY(mutex_);
  WallTime watched_from_ ASSAY_GUARDED_BY(mutex_){};  // The wall's clock at `watched_since_`.
  std::optional<MonotonicTime> removed_at_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
