// Issues certificates of the fleet's authority to invited nodes and users, and renews them.
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

// Lifetimes of certificates. For nodes, this is the default.
inline constexpr Duration kNodeCertificate = std::chrono::hours(1);
inline constexpr Duration kUserCertificate = std::chrono::hours(12);

// Implements POST /enrol and the requests of IdentityService, through which nodes and users join
// the fleet. Only a coordinator with its own certificate authority has this object. Thread-safe.
// All methods block on the database.
//
// Refused attempts to enrol or renew are stored with the peer's address. A refusal has a reason,
// such as INVITE_EXPIRED, and its violation names the invalid field, such as "token". Retrying is
// pointless except after UNAVAILABLE and INTERNAL, which are not stored.
class Enrolment {
 public:
  // All references must outlive this object. `coordinators` lists the addresses (HOST:PORT) given
  // to enrolled nodes and users. `node_certificate` is the lifetime of a node's certificate.
  Enrolment(const identity::Authority& authority, const Clock& clock, storage::IdentityStore& store,
            BanList& bans, std::vector<std::string> coordinators,
            Duration node_certificate = kNodeCertificate);

  // Enrols the request's key if the request includes an invite's token. Without a token, renews the
  // certificate of an enrolled key, unless the certificate expired more than 30 days ago. `address`
  // is the peer's address.
  Result<v1::EnrolResponse> Enrol(const v1::EnrolRequest& request, const std::string& address);
  // Renews the caller's certificate. The request must be for the caller's own key.
  Result<v1::RenewCertificateResponse> Renew(const v1::RenewCertificateRequest& request,
                                             const Identity& caller, const std::string& address);

  // Creates an invite. Leaves the response's `command` field empty. The caller must set it with
  // AddCommands, because only the caller knows the address of the join listener.
  Result<v1::CreateInviteResponse> CreateInvite(const v1::CreateInviteRequest& request,
                                                const Identity& caller);
  Result<std::vector<v1::Invite>> ListInvites();
  Status RevokeInvite(const std::string& invite_id);

  // Returns the identities sorted by name.
  Result<Page<v1::EnrolledIdentity>> ListIdentities(const std::string& role,
                                                    const PageRequest& request);
  Result<v1::EnrolledIdentity> Ban(const v1::BanIdentityRequest& request, const Identity& caller);
  Result<v1::EnrolledIdentity> Unban(const std::string& id_or_name);
  Status RemoveIdentity(const std::string& id_or_name);
  Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() { return store_.ListAttempts(); }

  // Removes old records, and ephemeral nodes that have been absent for an hour. The leader calls
  // this in every poll. After the first call, a failed call, or a change of the wall clock, removes
  // nothing for an hour, because nodes may only seem to have been absent.
  Status RemoveGone();

 private:
  struct Attempt {
    std::string address;
    std::string subject;  // Id of the invite or name of the identity, if known.
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
  // Returns the time at which a certificate that is issued now expires.
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
  // Number of refused attempts that may still be stored. This limit keeps peers from filling up the
  // database.
  double budget_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime budget_time_ ASSAY_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> watched_since_ ASSAY_GUARDED_BY(mutex_);
  WallTime watched_from_ ASSAY_GUARDED_BY(mutex_){};  // The wall clock at `watched_since_`.
  std::optional<MonotonicTime> removed_at_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
