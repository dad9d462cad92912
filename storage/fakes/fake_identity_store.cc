#include <algorithm>

#include "storage/fakes/fake_stores.h"
#include "storage/identity_rules.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

bool IsBefore(const google::protobuf::Timestamp& time, WallTime limit) {
  return schema::FromTimestamp(time) < limit;
}

}  // namespace

Status FakeIdentityStore::CreateInvite(const StoredInvite& invite) {
  MutexLock lock(database_.mutex);
  database_.invites.push_back(invite);
  return Status::Ok();
}

StoredInvite* FakeIdentityStore::FindInvite(const std::string& invite_id) {
  for (StoredInvite& stored : database_.invites) {
    if (stored.invite.invite_id() == invite_id) return &stored;
  }
  return nullptr;
}

Result<std::optional<StoredInvite>> FakeIdentityStore::GetInvite(const std::string& invite_id) {
  MutexLock lock(database_.mutex);
  const StoredInvite* const found = FindInvite(invite_id);
  return found == nullptr ? std::optional<StoredInvite>() : *found;
}

Result<std::vector<v1::Invite>> FakeIdentityStore::ListInvites(int limit) {
  MutexLock lock(database_.mutex);
  std::vector<v1::Invite> invites;
  for (auto it = database_.invites.rbegin(); it != database_.invites.rend(); ++it) {
    if (static_cast<int>(invites.size()) == limit) break;
    invites.push_back(it->invite);
  }
  return invites;
}

Status FakeIdentityStore::RevokeInvite(const std::string& invite_id, WallTime now) {
  MutexLock lock(database_.mutex);
  StoredInvite* const found = FindInvite(invite_id);
  if (found == nullptr) {
    std::vector<std::string> ids;
    for (const StoredInvite& stored : database_.invites) ids.push_back(stored.invite.invite_id());
    return NoSuch("invite", invite_id, ids);
  }
  if (!found->invite.has_revoke_time()) {
    *found->invite.mutable_revoke_time() = schema::ToTimestamp(now);
  }
  return Status::Ok();
}

std::optional<v1::EnrolledIdentity> FakeIdentityStore::FindIf(
    const std::function<bool(const v1::EnrolledIdentity&)>& matches) const {
  for (const auto& [id, identity] : database_.identities) {
    if (matches(identity)) return identity;
  }
  return std::nullopt;
}

Result<EnrolOutcome> FakeIdentityStore::Enrol(const Enrolling& enrolling) {
  MutexLock lock(database_.mutex);
  StoredInvite* const stored = FindInvite(enrolling.invite_id);
  std::optional<v1::Invite> invite;
  if (stored != nullptr) invite = stored->invite;
  IdentityLookup lookup;
  lookup.by_key = [&](const std::string& hash) {
    return FindIf([&](const v1::EnrolledIdentity& one) { return one.key_hash() == hash; });
  };
  lookup.by_name = [&](const std::string& name) {
    return FindIf([&](const v1::EnrolledIdentity& one) { return one.name() == name; });
  };
  std::vector<std::string> names;
  for (const auto& [id, identity] : database_.identities) names.push_back(identity.name());
  lookup.similar_names = [&](const std::string&) { return names; };
  EnrolOutcome outcome = DecideEnrolment(enrolling, invite, lookup);
  if (outcome.kind != EnrolOutcome::Kind::kEnrolled) return outcome;
  database_.identities[outcome.identity.identity_id()] = outcome.identity;
  stored->invite = outcome.invite;
  ++database_.identity_revision;
  return outcome;
}

Result<v1::EnrolledIdentity*> FakeIdentityStore::Find(const std::string& id_or_name) {
  const auto by_id = database_.identities.find(id_or_name);
  if (by_id != database_.identities.end()) return &by_id->second;
  std::vector<std::string> names;
  for (auto& [id, identity] : database_.identities) {
    if (identity.name() == id_or_name) return &identity;
    names.push_back(identity.name());
  }
  return NoSuch("identity", id_or_name, names);
}

Result<v1::EnrolledIdentity> FakeIdentityStore::GetIdentity(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const v1::EnrolledIdentity* found, Find(id_or_name));
  return *found;
}

Result<std::optional<v1::EnrolledIdentity>> FakeIdentityStore::FindKey(
    const std::string& key_hash) {
  MutexLock lock(database_.mutex);
  return FindIf([&](const v1::EnrolledIdentity& one) { return one.key_hash() == key_hash; });
}

Result<bool> FakeIdentityStore::SetCertificate(const std::string& key_hash,
                                               const std::string& serial,
                                               WallTime certificate_expire_time) {
  MutexLock lock(database_.mutex);
  for (auto& [id, identity] : database_.identities) {
    if (identity.key_hash() != key_hash || identity.has_ban_time()) continue;
    identity.set_serial(serial);
    *identity.mutable_certificate_expire_time() = schema::ToTimestamp(certificate_expire_time);
    return true;
  }
  return false;
}

Result<std::vector<v1::EnrolledIdentity>> FakeIdentityStore::ListIdentities(const std::string& role,
                                                                            const std::string& name,
                                                                            int limit) {
  MutexLock lock(database_.mutex);
  std::vector<v1::EnrolledIdentity> identities;
  for (const auto& [id, identity] : database_.identities) {
    const bool selected = role.empty() || identity.role() == role;
    if (selected && identity.name() > name) identities.push_back(identity);
  }
  std::sort(identities.begin(), identities.end(),
            [](const v1::EnrolledIdentity& a, const v1::EnrolledIdentity& b) {
              return a.name() < b.name();
            });
  if (identities.size() > static_cast<size_t>(limit)) {
    identities.resize(static_cast<size_t>(limit));
  }
  return identities;
}

Result<std::optional<IdentityStore::Identities>> FakeIdentityStore::ListChanged(int64_t revision) {
  MutexLock lock(database_.mutex);
  if (revision == database_.identity_revision) return std::optional<Identities>();
  Identities found;
  found.revision = database_.identity_revision;
  for (const auto& [id, identity] : database_.identities) found.identities.push_back(identity);
  return std::optional<Identities>(std::move(found));
}

Result<v1::EnrolledIdentity> FakeIdentityStore::Ban(const std::string& id_or_name,
                                                    const std::string& reason,
                                                    const std::string& by, WallTime now) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(v1::EnrolledIdentity * found, Find(id_or_name));
  *found->mutable_ban_time() = schema::ToTimestamp(now);
  found->set_ban_reason(reason);
  found->set_banned_by(by);
  ++database_.identity_revision;
  return *found;
}

Result<v1::EnrolledIdentity> FakeIdentityStore::Unban(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(v1::EnrolledIdentity * found, Find(id_or_name));
  found->clear_ban_time();
  found->clear_ban_reason();
  found->clear_banned_by();
  ++database_.identity_revision;
  return *found;
}

Status FakeIdentityStore::RemoveIdentity(const std::string& id_or_name) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const v1::EnrolledIdentity* found, Find(id_or_name));
  if (found->has_ban_time()) return StillBanned(*found);
  database_.identities.erase(std::string(found->identity_id()));
  ++database_.identity_revision;
  return Status::Ok();
}

Result<std::vector<std::string>> FakeIdentityStore::RemoveAbsent(Duration absence, WallTime now) {
  MutexLock lock(database_.mutex);
  std::vector<std::string> names;
  std::erase_if(database_.identities, [&](const auto& entry) {
    const v1::EnrolledIdentity& identity = entry.second;
    if (!identity.ephemeral() || identity.has_ban_time()) return false;
    if (!IsBefore(identity.certificate_expire_time(), now)) return false;
    const auto node = database_.nodes.find(entry.first);
    if (node != database_.nodes.end()) {
      if (database_.clock.Now() - node->second.heard_at <= absence) return false;
      for (const auto& [id, job] : database_.jobs) {
        const bool here =
            std::find(job.node_ids.begin(), job.node_ids.end(), entry.first) != job.node_ids.end();
        if (here && job.shown.state() == v1::JOB_STATE_RUNNING) return false;
      }
      database_.nodes.erase(node);
    }
    names.push_back(identity.name());
    return true;
  });
  if (!names.empty()) ++database_.identity_revision;
  std::sort(names.begin(), names.end());
  return names;
}

Status FakeIdentityStore::RemoveOld(WallTime now) {
  MutexLock lock(database_.mutex);
  const size_t removed = std::erase_if(database_.identities, [&](const auto& entry) {
    const v1::EnrolledIdentity& identity = entry.second;
    return !identity.has_ban_time() &&
           (IsBefore(identity.certificate_expire_time(), now - kRenewable) ||
            (identity.has_expire_time() && IsBefore(identity.expire_time(), now - kKeptAfterEnd)));
  });
  if (removed > 0) ++database_.identity_revision;
  std::erase_if(database_.invites, [&](const StoredInvite& stored) {
    return IsBefore(stored.invite.expire_time(), now - kRenewable);
  });
  return Status::Ok();
}

Status FakeIdentityStore::AddAttempt(const v1::EnrolmentAttempt& attempt) {
  MutexLock lock(database_.mutex);
  std::vector<v1::EnrolmentAttempt>& attempts = database_.attempts;
  attempts.insert(attempts.begin(), attempt);
  if (attempts.size() > static_cast<size_t>(kKeptAttempts)) attempts.pop_back();
  return Status::Ok();
}

Result<std::vector<v1::EnrolmentAttempt>> FakeIdentityStore::ListAttempts() {
  MutexLock lock(database_.mutex);
  return database_.attempts;
}

}  // namespace assay::storage
