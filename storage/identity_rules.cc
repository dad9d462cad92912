#include "storage/identity_rules.h"

#include <set>

#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using Kind = EnrolOutcome::Kind;

constexpr char kNode[] = "node";

// Returns `base`, or "base-2" and so on if it is taken.
std::string FreeName(const std::string& base, const std::vector<std::string>& names) {
  const std::set<std::string> taken(names.begin(), names.end());
  std::string name = base;
  for (int number = 2; taken.count(name) != 0; ++number) {
    name = base + "-" + std::to_string(number);
  }
  return name;
}

// Sets the fields that the scope of an invite determines.
void ApplyScope(const v1::InviteScope& scope, v1::EnrolledIdentity& identity) {
  identity.set_role(scope.role());
  identity.set_ephemeral(scope.ephemeral());
  *identity.mutable_labels() = scope.labels();
  identity.set_provider(scope.provider());
  identity.clear_price_per_hour();
  if (scope.has_price_per_hour()) identity.set_price_per_hour(scope.price_per_hour());
  identity.clear_expire_time();
  if (scope.has_identity_expire_time()) {
    *identity.mutable_expire_time() = scope.identity_expire_time();
  }
}

}  // namespace

EnrolOutcome DecideEnrolment(const Enrolling& enrolling, const std::optional<v1::Invite>& invite,
                             const IdentityLookup& lookup) {
  if (!invite) return {};
  EnrolOutcome outcome;
  outcome.invite = *invite;
  const auto refused = [&](Kind kind, const v1::EnrolledIdentity& identity = {}) {
    outcome.kind = kind;
    outcome.identity = identity;
    return outcome;
  };
  const v1::InviteScope& scope = invite->scope();
  const bool is_node = scope.role() == kNode;
  const std::optional<v1::EnrolledIdentity> of_key = lookup.by_key(enrolling.key_hash);
  const bool used = invite->has_use_time();
  const bool used_by_key = used && of_key && of_key->identity_id() == invite->identity_id();
  if (used && !used_by_key) return refused(Kind::kUsed);
  if (invite->has_revoke_time()) return refused(Kind::kRevoked);
  if (enrolling.now >= schema::FromTimestamp(invite->expire_time())) return refused(Kind::kExpired);
  if (of_key && of_key->has_ban_time()) return refused(Kind::kBanned, *of_key);

  v1::EnrolledIdentity identity;
  if (of_key) {
    const bool fits =
        of_key->role() == scope.role() && (is_node || of_key->identity_id() == scope.name());
    if (!fits) return refused(Kind::kKeyTaken, *of_key);
    identity = *of_key;
  } else {
    identity.set_identity_id(is_node ? enrolling.node_id : scope.name());
    identity.set_key_hash(enrolling.key_hash);
    *identity.mutable_create_time() = schema::ToTimestamp(enrolling.now);
  }
  if (!scope.name().empty()) {
    const auto owner = lookup.by_name(scope.name());
    if (owner && owner->key_hash() != enrolling.key_hash) {
      return refused(Kind::kNameTaken, *owner);
    }
    identity.set_name(scope.name());
  } else if (!of_key) {
    identity.set_name(FreeName(enrolling.host_name, lookup.similar_names(enrolling.host_name)));
  }
  ApplyScope(scope, identity);
  identity.set_invite_id(invite->invite_id());
  identity.set_serial(enrolling.serial);
  *identity.mutable_certificate_expire_time() =
      schema::ToTimestamp(enrolling.certificate_expire_time);
  outcome.kind = Kind::kEnrolled;
  outcome.identity = identity;
  outcome.invite.set_identity_id(identity.identity_id());
  outcome.invite.set_identity_name(identity.name());
  if (!used) *outcome.invite.mutable_use_time() = schema::ToTimestamp(enrolling.now);
  return outcome;
}

Status StillBanned(const v1::EnrolledIdentity& identity) {
  return FailedPrecondition(Quote(identity.name()) +
                            " is banned; without its record, its key "
                            "could join again")
      .WithHint("unban it first");
}

}  // namespace assay::storage
