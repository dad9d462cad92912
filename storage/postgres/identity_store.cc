#include "storage/identity_store.h"

#include "storage/identity_rules.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using google::protobuf::Timestamp;
using v1::EnrolledIdentity;

std::string InviteQuery() {
  return "SELECT invite_id, secret_hash, scope, created_by, identity_id, identity_name, " +
         Microseconds("create_time") + " AS create_time, " + Microseconds("expire_time") +
         " AS expire_time, " + Microseconds("revoke_time") + " AS revoke_time, " +
         Microseconds("use_time") + " AS use_time FROM invite ";
}

std::string IdentityQuery() {
  return "SELECT identity_id, role, name, key_hash, serial, invite_id, ephemeral, settings,"
         " ban_reason, banned_by, " +
         Microseconds("certificate_expire_time") + " AS certificate_expire_time, " +
         Microseconds("create_time") + " AS create_time, " + Microseconds("expire_time") +
         " AS expire_time, " + Microseconds("ban_time") + " AS ban_time FROM identity ";
}

Timestamp TimestampOf(const pqxx::field& microseconds) {
  return schema::ToTimestamp(TimeOf(microseconds));
}

// Returns the time as text to bind and cast, or nullopt for NULL.
std::optional<std::string> Bound(bool present, const Timestamp& time) {
  if (!present) return std::nullopt;
  return schema::TimeText(time);
}

std::string Bound(WallTime time) { return schema::TimeText(schema::ToTimestamp(time)); }

StoredInvite InviteOf(const pqxx::row& row) {
  StoredInvite stored;
  stored.secret_hash = row["secret_hash"].as<std::string>();
  v1::Invite& invite = stored.invite;
  invite.set_invite_id(row["invite_id"].as<std::string>());
  invite.mutable_scope()->ParseFromString(BytesOf(row["scope"]));
  invite.set_created_by(row["created_by"].as<std::string>());
  *invite.mutable_create_time() = TimestampOf(row["create_time"]);
  *invite.mutable_expire_time() = TimestampOf(row["expire_time"]);
  if (!row["revoke_time"].is_null()) {
    *invite.mutable_revoke_time() = TimestampOf(row["revoke_time"]);
  }
  if (!row["use_time"].is_null()) {
    *invite.mutable_use_time() = TimestampOf(row["use_time"]);
    invite.set_identity_id(row["identity_id"].as<std::string>());
    invite.set_identity_name(row["identity_name"].as<std::string>());
  }
  return stored;
}

EnrolledIdentity IdentityOfRow(const pqxx::row& row) {
  EnrolledIdentity identity;
  identity.ParseFromString(BytesOf(row["settings"]));
  identity.set_identity_id(row["identity_id"].as<std::string>());
  identity.set_role(row["role"].as<std::string>());
  identity.set_name(row["name"].as<std::string>());
  identity.set_key_hash(row["key_hash"].as<std::string>());
  identity.set_serial(row["serial"].as<std::string>());
  identity.set_invite_id(row["invite_id"].as<std::string>());
  identity.set_ephemeral(row["ephemeral"].as<bool>());
  *identity.mutable_certificate_expire_time() = TimestampOf(row["certificate_expire_time"]);
  *identity.mutable_create_time() = TimestampOf(row["create_time"]);
  if (!row["expire_time"].is_null()) {
    *identity.mutable_expire_time() = TimestampOf(row["expire_time"]);
  }
  if (!row["ban_time"].is_null()) {
    *identity.mutable_ban_time() = TimestampOf(row["ban_time"]);
    identity.set_ban_reason(row["ban_reason"].as<std::string>());
    identity.set_banned_by(row["banned_by"].as<std::string>());
  }
  return identity;
}

std::vector<EnrolledIdentity> IdentitiesOf(const pqxx::result& rows) {
  std::vector<EnrolledIdentity> identities;
  for (const auto& row : rows) identities.push_back(IdentityOfRow(row));
  return identities;
}

// Returns the identity with this value in `column`.
std::optional<EnrolledIdentity> FindBy(Transaction& transaction, const std::string& column,
                                       const std::string& value) {
  const pqxx::result rows =
      transaction.exec_params(IdentityQuery() + "WHERE " + column + " = $1", value);
  if (rows.empty()) return std::nullopt;
  return IdentityOfRow(rows[0]);
}

Result<EnrolledIdentity> FindIdentity(Transaction& transaction, const std::string& id_or_name) {
  const pqxx::result rows = transaction.exec_params(
      IdentityQuery() +
          "WHERE identity_id = $1 OR name = $1 ORDER BY identity_id = $1 DESC LIMIT 1",
      id_or_name);
  if (!rows.empty()) return IdentityOfRow(rows[0]);
  return NoSuch("identity", id_or_name,
                FirstTexts(transaction.exec("SELECT name FROM identity ORDER BY name")));
}

void Lock(Transaction& transaction) {
  transaction.exec("SELECT revision FROM identity_revision FOR UPDATE");
}

void NoteChange(Transaction& transaction) {
  transaction.exec("UPDATE identity_revision SET revision = revision + 1");
}

IdentityLookup LookupIn(Transaction& transaction) {
  IdentityLookup lookup;
  lookup.by_key = [&](const std::string& hash) { return FindBy(transaction, "key_hash", hash); };
  lookup.by_name = [&](const std::string& name) { return FindBy(transaction, "name", name); };
  lookup.similar_names = [&](const std::string& base) {
    // In ASCII, "." is next to "-".
    return FirstTexts(transaction.exec_params(
        "SELECT name FROM identity WHERE name = $1 OR (name > $1 || '-' AND name < $1 || '.')",
        base));
  };
  return lookup;
}

void Store(Transaction& transaction, const EnrolledIdentity& identity) {
  EnrolledIdentity settings;
  *settings.mutable_labels() = identity.labels();
  settings.set_provider(identity.provider());
  if (identity.has_price_per_hour()) settings.set_price_per_hour(identity.price_per_hour());
  transaction.exec_params(
      "INSERT INTO identity VALUES ($1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz,"
      "  $8::timestamptz, $9, $10, $11::bytea) "
      "ON CONFLICT (identity_id) DO UPDATE SET role = excluded.role, name = excluded.name,"
      "  serial = excluded.serial, certificate_expire_time = excluded.certificate_expire_time,"
      "  expire_time = excluded.expire_time, invite_id = excluded.invite_id,"
      "  ephemeral = excluded.ephemeral, settings = excluded.settings",
      identity.identity_id(), identity.role(), identity.name(), identity.key_hash(),
      identity.serial(), Bound(true, identity.certificate_expire_time()),
      Bound(true, identity.create_time()),
      Bound(identity.has_expire_time(), identity.expire_time()), identity.invite_id(),
      identity.ephemeral(), HexLiteral(DeterministicBytes(settings)));
}

class PostgresIdentityStore : public IdentityStore {
 public:
  explicit PostgresIdentityStore(Pool& pool) : pool_(pool) {}

  Status CreateInvite(const StoredInvite& stored) override {
    const v1::Invite& invite = stored.invite;
    return pool_
        .Execute("create_invite",
                 "INSERT INTO invite (invite_id, secret_hash, scope, created_by, create_time,"
                 "  expire_time) VALUES ($1, $2, $3::bytea, $4, $5::timestamptz, $6::timestamptz)",
                 invite.invite_id(), stored.secret_hash,
                 HexLiteral(DeterministicBytes(invite.scope())), invite.created_by(),
                 Bound(true, invite.create_time()), Bound(true, invite.expire_time()))
        .status();
  }

  Result<std::optional<StoredInvite>> GetInvite(const std::string& invite_id) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("get_invite", InviteQuery() + "WHERE invite_id = $1", invite_id));
    if (rows.empty()) return std::optional<StoredInvite>();
    return std::optional<StoredInvite>(InviteOf(rows[0]));
  }

  Result<std::vector<v1::Invite>> ListInvites(int limit) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("list_invites", InviteQuery() + "ORDER BY sequence DESC LIMIT $1", limit));
    std::vector<v1::Invite> invites;
    for (const auto& row : rows) invites.push_back(std::move(InviteOf(row).invite));
    return invites;
  }

  Status RevokeInvite(const std::string& invite_id, WallTime now) override {
    return pool_.Run("revoke_invite", [&](Transaction& transaction) {
      const pqxx::result rows = transaction.exec_params(
          "UPDATE invite SET revoke_time = coalesce(revoke_time, $2::timestamptz) "
          "WHERE invite_id = $1 RETURNING 1",
          invite_id, Bound(now));
      if (!rows.empty()) return Status::Ok();
      return NoSuch("invite", invite_id,
                    FirstTexts(transaction.exec(
                        "SELECT invite_id FROM invite ORDER BY sequence DESC LIMIT 1000")));
    });
  }

  Result<EnrolOutcome> Enrol(const Enrolling& enrolling) override {
    return pool_.Transact("enrol", [&](Transaction& transaction) -> Result<EnrolOutcome> {
      Lock(transaction);
      const pqxx::result rows =
          transaction.exec_params(InviteQuery() + "WHERE invite_id = $1", enrolling.invite_id);
      std::optional<v1::Invite> invite;
      if (!rows.empty()) invite = InviteOf(rows[0]).invite;
      EnrolOutcome outcome = DecideEnrolment(enrolling, invite, LookupIn(transaction));
      if (outcome.kind != EnrolOutcome::Kind::kEnrolled) return outcome;
      Store(transaction, outcome.identity);
      transaction.exec_params(
          "UPDATE invite SET identity_id = $2, identity_name = $3, use_time = $4::timestamptz "
          "WHERE invite_id = $1",
          outcome.invite.invite_id(), outcome.invite.identity_id(), outcome.invite.identity_name(),
          Bound(true, outcome.invite.use_time()));
      NoteChange(transaction);
      return outcome;
    });
  }

  Result<EnrolledIdentity> GetIdentity(const std::string& id_or_name) override {
    return pool_.Query("get_identity", [&](Transaction& transaction) {
      return FindIdentity(transaction, id_or_name);
    });
  }

  Result<std::optional<EnrolledIdentity>> FindKey(const std::string& key_hash) override {
    using Found = std::optional<EnrolledIdentity>;
    return pool_.Query("find_key", [&](Transaction& transaction) -> Result<Found> {
      return FindBy(transaction, "key_hash", key_hash);
    });
  }

  Result<bool> SetCertificate(const std::string& key_hash, const std::string& serial,
                              WallTime certificate_expire_time) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("set_certificate",
                      "UPDATE identity SET serial = $2, certificate_expire_time = $3::timestamptz "
                      "WHERE key_hash = $1 AND ban_time IS NULL RETURNING 1",
                      key_hash, serial, Bound(certificate_expire_time)));
    return !rows.empty();
  }

  Result<std::vector<EnrolledIdentity>> ListIdentities(const std::string& role,
                                                       const std::string& name,
                                                       int limit) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute(
            "list_identities",
            IdentityQuery() + "WHERE ($1 = '' OR role = $1) AND name > $2 ORDER BY name LIMIT $3",
            role, name, limit));
    return IdentitiesOf(rows);
  }

  Result<std::optional<Identities>> ListChanged(int64_t revision) override {
    using Changed = std::optional<Identities>;
    return pool_.Query("list_changed_identities", [&](Transaction& transaction) -> Result<Changed> {
      Identities found;
      // Read first: a change in between is then found again.
      found.revision = transaction.exec1("SELECT revision FROM identity_revision")[0].as<int64_t>();
      if (found.revision == revision) return Changed();
      found.identities = IdentitiesOf(transaction.exec(IdentityQuery()));
      return Changed(std::move(found));
    });
  }

  Result<EnrolledIdentity> Ban(const std::string& id_or_name, const std::string& reason,
                               const std::string& by, WallTime now) override {
    return Change("ban", id_or_name,
                  [&](Transaction& transaction, const EnrolledIdentity& identity) {
                    transaction.exec_params(
                        "UPDATE identity SET ban_time = $2::timestamptz, ban_reason = $3,"
                        "  banned_by = $4 WHERE identity_id = $1",
                        identity.identity_id(), Bound(now), reason, by);
                    return Status::Ok();
                  });
  }

  Result<EnrolledIdentity> Unban(const std::string& id_or_name) override {
    return Change("unban", id_or_name,
                  [&](Transaction& transaction, const EnrolledIdentity& identity) {
                    transaction.exec_params(
                        "UPDATE identity SET ban_time = NULL, ban_reason = NULL, banned_by = NULL "
                        "WHERE identity_id = $1",
                        identity.identity_id());
                    return Status::Ok();
                  });
  }

  Status RemoveIdentity(const std::string& id_or_name) override {
    return pool_.Run("remove_identity", [&](Transaction& transaction) -> Status {
      Lock(transaction);
      ASSAY_ASSIGN_OR_RETURN(const EnrolledIdentity identity,
                             FindIdentity(transaction, id_or_name));
      if (identity.has_ban_time()) return StillBanned(identity);
      transaction.exec_params("DELETE FROM identity WHERE identity_id = $1",
                              identity.identity_id());
      NoteChange(transaction);
      return Status::Ok();
    });
  }

  Result<std::vector<std::string>> RemoveAbsent(Duration absence, WallTime now) override {
    using Names = std::vector<std::string>;
    return pool_.Transact("remove_absent", [&](Transaction& transaction) -> Result<Names> {
      const pqxx::result rows = transaction.exec_params(
          "WITH gone AS ("
          "  DELETE FROM identity i WHERE role = 'node' AND ephemeral AND ban_time IS NULL"
          "    AND certificate_expire_time < $2::timestamptz"
          "    AND NOT EXISTS (SELECT FROM allocation a WHERE a.node_id = i.identity_id)"
          "    AND NOT EXISTS (SELECT FROM node_session s WHERE s.node_id = i.identity_id"
          "      AND s.last_heartbeat_time >= now() - $1::interval) "
          "  RETURNING identity_id, name), "
          "removed AS (DELETE FROM node n USING gone WHERE n.node_id = gone.identity_id) "
          "SELECT name FROM gone ORDER BY name",
          Interval(absence), Bound(now));
      if (!rows.empty()) NoteChange(transaction);
      return FirstTexts(rows);
    });
  }

  Status RemoveOld(WallTime now) override {
    return pool_.Run("remove_old_identities", [&](Transaction& transaction) {
      const pqxx::result rows = transaction.exec_params(
          "DELETE FROM identity WHERE ban_time IS NULL AND (expire_time < $1::timestamptz"
          "  OR certificate_expire_time < $2::timestamptz) RETURNING 1",
          Bound(now - kKeptAfterEnd), Bound(now - kRenewable));
      if (!rows.empty()) NoteChange(transaction);
      transaction.exec_params("DELETE FROM invite WHERE expire_time < $1::timestamptz",
                              Bound(now - kRenewable));
      return Status::Ok();
    });
  }

  Status AddAttempt(const v1::EnrolmentAttempt& attempt) override {
    return pool_.Run("add_attempt", [&](Transaction& transaction) {
      transaction.exec_params(
          "INSERT INTO enrolment_attempt (\"time\", address, subject, reason, message) "
          "VALUES ($1::timestamptz, $2, $3, $4, $5)",
          Bound(true, attempt.time()), attempt.address(), attempt.subject(),
          WordOf(attempt.reason()), attempt.message());
      transaction.exec_params(
          "DELETE FROM enrolment_attempt "
          "WHERE sequence <= (SELECT max(sequence) FROM enrolment_attempt) - $1",
          kKeptAttempts);
      return Status::Ok();
    });
  }

  Result<std::vector<v1::EnrolmentAttempt>> ListAttempts() override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("list_attempts", "SELECT address, subject, reason, message, " +
                                           Microseconds("\"time\"") +
                                           " AS \"time\" FROM enrolment_attempt "
                                           "ORDER BY sequence DESC"));
    std::vector<v1::EnrolmentAttempt> attempts;
    for (const auto& row : rows) {
      v1::EnrolmentAttempt& attempt = attempts.emplace_back();
      *attempt.mutable_time() = TimestampOf(row["time"]);
      attempt.set_address(row["address"].as<std::string>());
      attempt.set_subject(row["subject"].as<std::string>());
      attempt.set_reason(EnumOf<v1::Reason>(row["reason"]));
      attempt.set_message(row["message"].as<std::string>());
    }
    return attempts;
  }

 private:
  // Changes an identity and returns it afterwards.
  template <typename F>
  Result<EnrolledIdentity> Change(const char* name, const std::string& id_or_name,
                                  const F& change) {
    return pool_.Transact(name, [&](Transaction& transaction) -> Result<EnrolledIdentity> {
      Lock(transaction);
      ASSAY_ASSIGN_OR_RETURN(const EnrolledIdentity identity,
                             FindIdentity(transaction, id_or_name));
      ASSAY_RETURN_IF_ERROR(change(transaction, identity));
      NoteChange(transaction);
      return FindIdentity(transaction, identity.identity_id());
    });
  }

  Pool& pool_;
};

}  // namespace

std::unique_ptr<IdentityStore> MakeIdentityStore(Pool& pool) {
  return std::make_unique<PostgresIdentityStore>(pool);
}

}  // namespace assay::storage
