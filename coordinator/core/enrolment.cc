#include "coordinator/core/enrolment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "common/log.h"
#include "common/text.h"
#include "common/uuid.h"
#include "common/violations.h"
#include "identity/invite_token.h"
#include "wire/bounds.h"
#include "wire/durations.h"
#include "wire/node_labels.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using Kind = storage::EnrolOutcome::Kind;

constexpr Duration kDefaultInvite = std::chrono::minutes(30);
constexpr Duration kShortestInvite = std::chrono::minutes(1);
constexpr Duration kLongestInvite = std::chrono::hours(24 * 7);
constexpr Duration kMaxClockError = std::chrono::hours(1);
constexpr Duration kAbsence = std::chrono::hours(1);
constexpr Duration kRemovalPeriod = std::chrono::minutes(1);
constexpr int kListedInvites = 1000;
constexpr size_t kMaxProviderBytes = 200;
constexpr size_t kMaxUserBytes = 64;
constexpr size_t kMaxBanReasonBytes = 1000;
constexpr size_t kMaxStoredMessageBytes = 500;
constexpr size_t kMaxAddressBytes = 64;
// Maximum length of a host name used as the name of a node. Node names may have up to 200 bytes,
// which leaves room for appending a number.
constexpr size_t kMaxHostNameBytes = 190;
// Number of refused attempts that are stored in a burst. After that, one per second is stored.
constexpr double kMaxBudget = 100;

constexpr Duration kMaxDrift = std::chrono::minutes(5);

constexpr char kNodeRole[] = "node";
constexpr char kNewInvite[] = "ask an admin for a new invite: assay node invite";

std::string ClockText(WallTime time) { return schema::TimeText(schema::ToTimestamp(time)); }

Status Refusal(Code code, Reason reason, const char* field, const std::string& message,
               const std::string& hint) {
  return Status(code, reason, message).WithViolations({{field, message, 0}}).WithHint(hint);
}

Status NoSuchInvite() {
  return Refusal(Code::kNotFound, Reason::kUnknownInvite, "token", "there is no such invite",
                 kNewInvite);
}

Status BannedRefusal(const v1::EnrolledIdentity& identity) {
  std::string message = fmt::format("{} {} was banned at {}", identity.role(),
                                    Quote(identity.name()), schema::TimeText(identity.ban_time()));
  if (!identity.ban_reason().empty()) message += ": " + identity.ban_reason();
  return Refusal(Code::kPermissionDenied, Reason::kBanned, "identity", message,
                 "an admin can end the ban: assay node unban " + identity.identity_id());
}

Status NotEnrolled(const std::string& message) {
  return Refusal(Code::kUnauthenticated, Reason::kNoIdentity, "certificate_request", message,
                 kNewInvite);
}

// Returns the error for an outcome that is not kEnrolled.
Status RefusalOf(const storage::EnrolOutcome& outcome) {
  const v1::Invite& invite = outcome.invite;
  const v1::EnrolledIdentity& identity = outcome.identity;
  switch (outcome.kind) {
    case Kind::kExpired:
      return Refusal(Code::kFailedPrecondition, Reason::kInviteExpired, "token",
                     "the invite expired at " + schema::TimeText(invite.expire_time()), kNewInvite);
    case Kind::kRevoked:
      return Refusal(Code::kPermissionDenied, Reason::kInviteRevoked, "token",
                     "the invite was revoked at " + schema::TimeText(invite.revoke_time()),
                     kNewInvite);
    case Kind::kUsed:
      return Refusal(
          Code::kPermissionDenied, Reason::kInviteUsed, "token",
          fmt::format("the invite was used by {} {} at {}", invite.scope().role(),
                      Quote(invite.identity_name()), schema::TimeText(invite.use_time())),
          "each node and user needs an invite of its own: assay node invite");
    case Kind::kBanned:
      return BannedRefusal(identity);
    case Kind::kNameTaken:
      return Refusal(
          Code::kAlreadyExists, Reason::kNodeNameTaken, "name",
          fmt::format("the name {} belongs to another {}, enrolled at {}", Quote(identity.name()),
                      identity.role(), schema::TimeText(identity.create_time())),
          "invite with another name, or remove the other first");
    case Kind::kKeyTaken:
      return Refusal(
          Code::kAlreadyExists, Reason::kKeyTaken, "certificate_request",
          fmt::format("the key belongs to {} {}", identity.role(), Quote(identity.name())),
          "use a new key, in another data folder");
    default:
      return NoSuchInvite();
  }
}

bool IsUserRole(Role role) { return role >= Role::kViewer && role <= Role::kAdmin; }

// User names are a part of URIs, file names and commands.
bool IsUserName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxUserBytes && !IsUuid(name) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("-._@+", c) != nullptr);
         });
}

void CheckNodeScope(const v1::InviteScope& scope, Violations& violations) {
  if (!scope.name().empty() && (!schema::IsNodeName(scope.name()) || IsUuid(scope.name()))) {
    violations.Add("scope.name",
                   Quote(scope.name()) +
                       " is not a node's name: 1 to 200 printable ASCII characters without spaces "
                       "at the ends, and no UUID",
                   0);
  }
  if (scope.labels().size() > schema::kMaxLabels) {
    violations.Add("scope.labels", fmt::format("more than {} labels", schema::kMaxLabels), 0);
  }
  for (const auto& [key, value] : scope.labels()) {
    Status label = schema::CheckLabel(key, value);
    if (label.ok()) label = schema::CheckLabelCase(key, scope.labels());
    if (!label.ok()) violations.Add("scope.labels", label.message(), 0);
  }
  if (scope.provider().size() > kMaxProviderBytes || !IsPlainText(scope.provider())) {
    violations.Add("scope.provider",
                   Quote(scope.provider()) + " is not plain text of at most 200 bytes", 0);
  }
  if (scope.has_price_per_hour()) {
    const Status price = schema::CheckPrice(scope.price_per_hour());
    if (!price.ok()) violations.Add("scope.price_per_hour", price.message(), 0);
  }
}

void CheckUserScope(const v1::InviteScope& scope, Violations& violations) {
  if (!IsUserName(scope.name())) {
    violations.Add("scope.name",
                   Quote(scope.name()) +
                       " is not a user's name: 1 to 64 letters, digits and \"-._@+\", and no UUID",
                   0);
  }
  const auto only_nodes = [&](const char* field) {
    violations.Add(field, "only nodes have it, not users", 0);
  };
  if (!scope.labels().empty()) only_nodes("scope.labels");
  if (!scope.provider().empty()) only_nodes("scope.provider");
  if (scope.has_price_per_hour()) only_nodes("scope.price_per_hour");
  if (scope.ephemeral()) only_nodes("scope.ephemeral");
}

std::string HostName(const std::string& sent) {
  const std::string name = sent.substr(0, std::min(sent.size(), kMaxHostNameBytes));
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("-._", c) != nullptr);
  });
  // A name that is a UUID would be mistaken for a node's id.
  return plain && schema::IsNodeName(name) && name.front() != '-' && !IsUuid(name) ? name
                                                                                   : kNodeRole;
}

v1::InviteScope ScopeOf(const v1::EnrolledIdentity& identity) {
  v1::InviteScope scope;
  scope.set_role(identity.role());
  scope.set_name(identity.name());
  *scope.mutable_labels() = identity.labels();
  scope.set_provider(identity.provider());
  if (identity.has_price_per_hour()) scope.set_price_per_hour(identity.price_per_hour());
  scope.set_ephemeral(identity.ephemeral());
  if (identity.has_expire_time()) {
    *scope.mutable_identity_expire_time() = identity.expire_time();
  }
  return scope;
}

}  // namespace

Enrolment::Enrolment(const identity::Authority& authority, const Clock& clock,
                     storage::IdentityStore& store, BanList& bans,
                     std::vector<std::string> coordinators, Duration node_certificate)
    : authority_(authority),
      clock_(clock),
      store_(store),
      bans_(bans),
      coordinators_(std::move(coordinators)),
      node_certificate_(node_certificate),
      budget_(kMaxBudget),
      budget_time_(clock.Now()) {}

Result<v1::EnrolResponse> Enrolment::Enrol(const v1::EnrolRequest& request,
                                           const std::string& address) {
  Attempt attempt{address, ""};
  Result<v1::EnrolResponse> response =
      request.token().empty() ? RenewByKey(request, attempt) : EnrolWithToken(request, attempt);
  if (!response.ok()) Note(response.status(), attempt);
  return response;
}

Result<v1::RenewCertificateResponse> Enrolment::Renew(const v1::RenewCertificateRequest& request,
                                                      const Identity& caller,
                                                      const std::string& address) {
  Attempt attempt{address, caller.name.empty() ? caller.id : caller.name};
  const auto renew = [&]() -> Result<v1::RenewCertificateResponse> {
    ASSAY_ASSIGN_OR_RETURN(const identity::RequestedKey key,
                           identity::CheckCertificateRequest(request.certificate_request()));
    if (key.hash != caller.key_hash) {
      return Refusal(Code::kPermissionDenied, Reason::kNotPermitted, "certificate_request",
                     "the certificate request is of another key than the caller's certificate",
                     "renew with the key that was enrolled");
    }
    ASSAY_ASSIGN_OR_RETURN(const auto identity, store_.FindKey(key.hash));
    if (!identity || identity->identity_id() != caller.id ||
        identity->role() != RoleName(caller.role)) {
      return NotEnrolled("the caller's certificate is not of an enrolled identity");
    }
    v1::RenewCertificateResponse response;
    ASSAY_ASSIGN_OR_RETURN(*response.mutable_certificate_chain(),
                           RenewKey(key, *identity, attempt));
    return response;
  };
  Result<v1::RenewCertificateResponse> response = renew();
  if (!response.ok()) Note(response.status(), attempt);
  return response;
}

Result<v1::EnrolResponse> Enrolment::EnrolWithToken(const v1::EnrolRequest& request,
                                                    Attempt& attempt) {
  ASSAY_ASSIGN_OR_RETURN(const identity::InviteToken token,
                         identity::ParseInviteToken(request.token()));
  ASSAY_ASSIGN_OR_RETURN(const identity::RequestedKey key,
                         identity::CheckCertificateRequest(request.certificate_request()));
  ASSAY_RETURN_IF_ERROR(CheckClock(request));
  ASSAY_ASSIGN_OR_RETURN(const auto stored, store_.GetInvite(token.id));
  if (!stored || !identity::IsSecretOf(token.secret, stored->secret_hash)) return NoSuchInvite();
  attempt.subject = token.id;
  const v1::InviteScope& scope = stored->invite.scope();
  storage::Enrolling enrolling;
  enrolling.invite_id = token.id;
  enrolling.key_hash = key.hash;
  enrolling.node_id = NewUuid();
  enrolling.host_name = HostName(request.host_name());
  enrolling.serial = identity::NewSerial();
  enrolling.now = clock_.WallNow();
  enrolling.certificate_expire_time = CertificateEnd(
      scope.role(), scope.has_identity_expire_time() ? &scope.identity_expire_time() : nullptr);
  if (enrolling.certificate_expire_time <= enrolling.now) {
    return Refusal(Code::kFailedPrecondition, Reason::kInviteExpired, "token",
                   "the enrolment that the invite allows ended at " +
                       schema::TimeText(scope.identity_expire_time()),
                   kNewInvite);
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::EnrolOutcome outcome, store_.Enrol(enrolling));
  if (outcome.kind != Kind::kEnrolled) return RefusalOf(outcome);
  ASSAY_ASSIGN_OR_RETURN(std::string chain, Issue(key, outcome.identity, enrolling.serial,
                                                  enrolling.certificate_expire_time));
  bans_.Put(outcome.identity);
  Log().info("enrolled {} {} ({}) from {}", outcome.identity.role(), Quote(outcome.identity.name()),
             outcome.identity.identity_id(), Sanitize(Cut(attempt.address)));
  return ResponseFor(outcome.identity, std::move(chain));
}

Result<v1::EnrolResponse> Enrolment::RenewByKey(const v1::EnrolRequest& request, Attempt& attempt) {
  ASSAY_ASSIGN_OR_RETURN(const identity::RequestedKey key,
                         identity::CheckCertificateRequest(request.certificate_request()));
  ASSAY_RETURN_IF_ERROR(CheckClock(request));
  ASSAY_ASSIGN_OR_RETURN(const auto identity, store_.FindKey(key.hash));
  if (!identity) return NotEnrolled("the key is not enrolled in this fleet");
  attempt.subject = identity->name();
  ASSAY_ASSIGN_OR_RETURN(std::string chain, RenewKey(key, *identity, attempt));
  return ResponseFor(*identity, std::move(chain));
}

Result<std::string> Enrolment::RenewKey(const identity::RequestedKey& key,
                                        const v1::EnrolledIdentity& identity, Attempt& attempt) {
  attempt.subject = identity.name();
  if (identity.has_ban_time()) return BannedRefusal(identity);
  const WallTime now = clock_.WallNow();
  const WallTime end = CertificateEnd(
      identity.role(), identity.has_expire_time() ? &identity.expire_time() : nullptr);
  if (end <= now) {
    return NotEnrolled(fmt::format("the enrolment of {} {} ended at {}", identity.role(),
                                   Quote(identity.name()), ClockText(end)));
  }
  const WallTime last = schema::FromTimestamp(identity.certificate_expire_time());
  if (now >= last + storage::kRenewable) {
    return NotEnrolled(fmt::format("the certificate of {} {} ended at {}, more than 30 days ago",
                                   identity.role(), Quote(identity.name()), ClockText(last)));
  }
  const std::string serial = identity::NewSerial();
  ASSAY_ASSIGN_OR_RETURN(const bool stored, store_.SetCertificate(key.hash, serial, end));
  if (!stored) return NotEnrolled("the key was banned or removed a moment ago");
  return Issue(key, identity, serial, end);
}

Result<std::string> Enrolment::Issue(const identity::RequestedKey& key,
                                     const v1::EnrolledIdentity& identity,
                                     const std::string& serial, WallTime expire_time) const {
  identity::Leaf leaf;
  leaf.role = identity.role();
  leaf.id = identity.identity_id();
  if (leaf.role == kNodeRole) leaf.names = {identity.name()};
  leaf.serial = serial;
  leaf.expire_time = expire_time;
  return authority_.Issue(key, leaf, clock_.WallNow());
}

v1::EnrolResponse Enrolment::ResponseFor(const v1::EnrolledIdentity& identity,
                                         std::string chain) const {
  v1::EnrolResponse response;
  response.set_certificate_chain(std::move(chain));
  response.set_authority(authority_.pem());
  response.set_identity_id(identity.identity_id());
  response.set_name(identity.name());
  response.set_fleet(authority_.fleet());
  response.mutable_coordinators()->Assign(coordinators_.begin(), coordinators_.end());
  *response.mutable_scope() = ScopeOf(identity);
  return response;
}

WallTime Enrolment::CertificateEnd(const std::string& role,
                                   const google::protobuf::Timestamp* identity_end) const {
  const Duration lifetime = role == kNodeRole ? node_certificate_ : kUserCertificate;
  WallTime end = std::min(clock_.WallNow() + lifetime, authority_.expire_time());
  if (identity_end != nullptr) end = std::min(end, schema::FromTimestamp(*identity_end));
  return end;
}

Status Enrolment::CheckClock(const v1::EnrolRequest& request) const {
  if (!request.has_time()) return Status::Ok();
  const WallTime now = clock_.WallNow();
  const WallTime sent = schema::FromTimestamp(request.time());
  if (sent <= now + kMaxClockError && now <= sent + kMaxClockError) return Status::Ok();
  return Refusal(
      Code::kFailedPrecondition, Reason::kClockSkew, "time",
      fmt::format(
          "the clocks differ by more than an hour: the coordinator's says {}, the sender's {}",
          ClockText(now), ClockText(sent)),
      "set the clock of the machine that joins, for example with `chronyd -q`");
}

void Enrolment::Note(const Status& refusal, const Attempt& attempt) {
  if (refusal.code() == Code::kUnavailable || refusal.code() == Code::kInternal) return;
  {
    MutexLock lock(mutex_);
    const MonotonicTime now = clock_.Now();
    const double passed = std::chrono::duration<double>(now - budget_time_).count();
    budget_ = std::min(kMaxBudget, budget_ + passed);
    budget_time_ = now;
    if (budget_ < 1) return;
    --budget_;
  }
  v1::EnrolmentAttempt stored;
  *stored.mutable_time() = schema::ToTimestamp(clock_.WallNow());
  stored.set_address(Sanitize(Cut(attempt.address, kMaxAddressBytes)));
  stored.set_subject(Sanitize(Cut(attempt.subject)));
  stored.set_message(Sanitize(Cut(refusal.message(), kMaxStoredMessageBytes)));
  stored.set_reason(static_cast<v1::Reason>(refusal.reason()));
  if (const Status added = store_.AddAttempt(stored); !added.ok()) {
    Log().warn("an attempt to join from {} is not recorded: {}", stored.address(), added.message());
  }
}

Status Enrolment::CheckInvite(const v1::CreateInviteRequest& request) const {
  Violations violations;
  const v1::InviteScope& scope = request.scope();
  const Role role = ParseRole(scope.role());
  if (role == Role::kNode) {
    CheckNodeScope(scope, violations);
  } else if (IsUserRole(role)) {
    CheckUserScope(scope, violations);
  } else {
    violations.Add("scope.role",
                   Quote(scope.role()) + " is not one of node, viewer, submitter, operator, admin",
                   0);
  }
  if (scope.has_identity_expire_time() &&
      schema::FromTimestamp(scope.identity_expire_time()) <= clock_.WallNow()) {
    violations.Add("scope.identity_expire_time",
                   schema::TimeText(scope.identity_expire_time()) + " has passed", 0);
  }
  if (request.has_lifetime()) {
    const Duration lifetime = FromProto(request.lifetime());
    if (lifetime < kShortestInvite || lifetime > kLongestInvite) {
      violations.Add("lifetime", "an invite can be used for 1 minute to 7 days", 0);
    }
  }
  return violations.ToStatus("the invite", Reason::kInvalidArgument);
}

Result<v1::CreateInviteResponse> Enrolment::CreateInvite(const v1::CreateInviteRequest& request,
                                                         const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckInvite(request));
  const identity::InviteToken token = identity::NewInviteToken();
  const WallTime now = clock_.WallNow();
  storage::StoredInvite stored;
  stored.secret_hash = identity::SecretHash(token.secret);
  stored.invite.set_invite_id(token.id);
  *stored.invite.mutable_scope() = request.scope();
  *stored.invite.mutable_create_time() = schema::ToTimestamp(now);
  *stored.invite.mutable_expire_time() = schema::ToTimestamp(
      now + (request.has_lifetime() ? FromProto(request.lifetime()) : kDefaultInvite));
  stored.invite.set_created_by(caller.id);
  ASSAY_RETURN_IF_ERROR(store_.CreateInvite(stored));
  v1::CreateInviteResponse response;
  *response.mutable_invite() = stored.invite;
  response.set_token(identity::InviteTokenText(token));
  return response;
}

Result<std::vector<v1::Invite>> Enrolment::ListInvites() {
  return store_.ListInvites(kListedInvites);
}

Status Enrolment::RevokeInvite(const std::string& invite_id) {
  return store_.RevokeInvite(invite_id, clock_.WallNow());
}

Result<Page<v1::EnrolledIdentity>> Enrolment::ListIdentities(const std::string& role,
                                                             const PageRequest& request) {
  constexpr char kTokens = 'i';
  const Role known = ParseRole(role);
  if (!role.empty() && known != Role::kNode && !IsUserRole(known)) {
    return InvalidArgument(Quote(role) + " is not one of node, viewer, submitter, operator, admin")
        .WithViolations({{"role", "not a role of an enrolled identity", 0}});
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string after, ParseTextToken(kTokens, request.token));
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::EnrolledIdentity> identities,
                         store_.ListIdentities(role, after, PageSize(request) + 1));
  PageFiller<v1::EnrolledIdentity> filler(kTokens, request);
  for (v1::EnrolledIdentity& identity : identities) {
    std::string name = identity.name();
    if (!filler.Add(std::move(identity), std::move(name))) break;
  }
  return std::move(filler).Take();
}

Result<v1::EnrolledIdentity> Enrolment::Ban(const v1::BanIdentityRequest& request,
                                            const Identity& caller) {
  if (request.reason().size() > kMaxBanReasonBytes || !IsPlainText(request.reason())) {
    const std::string what =
        fmt::format("a reason is plain text of at most {} bytes", kMaxBanReasonBytes);
    return InvalidArgument(what).WithViolations({{"reason", what, 0}});
  }
  ASSAY_ASSIGN_OR_RETURN(
      v1::EnrolledIdentity identity,
      store_.Ban(request.identity(), request.reason(), caller.id, clock_.WallNow()));
  Log().warn("{} {} was banned by {}: {}", identity.role(), Quote(identity.name()),
             caller.id.empty() ? RoleName(caller.role) : caller.id, Quote(request.reason(), 200));
  // The ban is already stored. Refresh the list now to close the banned identity's open streams. If
  // this fails, the next periodic refresh closes them.
  static_cast<void>(bans_.Refresh());
  return identity;
}

Result<v1::EnrolledIdentity> Enrolment::Unban(const std::string& id_or_name) {
  ASSAY_ASSIGN_OR_RETURN(v1::EnrolledIdentity identity, store_.Unban(id_or_name));
  static_cast<void>(bans_.Refresh());
  return identity;
}

Status Enrolment::RemoveIdentity(const std::string& id_or_name) {
  ASSAY_RETURN_IF_ERROR(store_.RemoveIdentity(id_or_name));
  static_cast<void>(bans_.Refresh());
  return Status::Ok();
}

Status Enrolment::RemoveGone() {
  const MonotonicTime now = clock_.Now();
  const WallTime wall = clock_.WallNow();
  bool watched_enough = false;
  {
    MutexLock lock(mutex_);
    if (!watched_since_) {
      watched_since_ = now;
      watched_from_ = wall;
    }
    if (removed_at_ && now - *removed_at_ < kRemovalPeriod) return Status::Ok();
    // Nodes are removed only after being watched for an hour. If the wall clock has been changed,
    // restart that hour, because the computed absences are wrong.
    const Duration drift = (wall - watched_from_) - (now - *watched_since_);
    if (drift > kMaxDrift || drift < -kMaxDrift) {
      watched_since_ = now;
      watched_from_ = wall;
    }
    watched_enough = now - *watched_since_ >= kAbsence;
    removed_at_ = now;
  }
  const auto remove = [&]() -> Status {
    if (!watched_enough) return Status::Ok();
    ASSAY_RETURN_IF_ERROR(store_.RemoveOld(wall));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           store_.RemoveAbsent(kAbsence, wall));
    if (names.empty()) return Status::Ok();
    Log().info("removed {} absent for an hour: {}",
               Counted(static_cast<int64_t>(names.size()), "ephemeral node"), JoinSome(names));
    return bans_.Refresh();
  };
  Status removed = remove();
  if (!removed.ok()) {
    MutexLock lock(mutex_);
    watched_since_.reset();
  }
  return removed;
}

}  // namespace assay::coordinator
