// The contract of every IdentityStore.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/uuid.h"
#include "tests/contract/stores.h"
#include "wire/bytes.h"
#include "wire/timestamps.h"

namespace assay::storage {

inline constexpr WallTime kInviteTime{std::chrono::seconds(1767225600)};  // 2026-01-01

inline StoredInvite MakeInvite(const std::string& id, const std::string& name = "",
                               const std::string& role = "node") {
  StoredInvite stored;
  stored.secret_hash = "hash of " + id;
  v1::Invite& invite = stored.invite;
  invite.set_invite_id(id);
  invite.set_created_by("alice");
  invite.mutable_scope()->set_role(role);
  invite.mutable_scope()->set_name(name);
  *invite.mutable_create_time() = schema::ToTimestamp(kInviteTime);
  *invite.mutable_expire_time() = schema::ToTimestamp(kInviteTime + std::chrono::minutes(30));
  return stored;
}

inline Enrolling MakeEnrolling(const std::string& invite_id, const std::string& key) {
  Enrolling enrolling;
  enrolling.invite_id = invite_id;
  enrolling.key_hash = key;
  enrolling.node_id = NewUuid();
  enrolling.host_name = "host";
  enrolling.serial = "4A";
  enrolling.now = kInviteTime + std::chrono::minutes(1);
  enrolling.certificate_expire_time = enrolling.now + std::chrono::hours(1);
  return enrolling;
}

class IdentityStoreContract : public StoreContract {
 protected:
  using Kind = EnrolOutcome::Kind;

  void Invite(const StoredInvite& invite) {
    const Status status = identities().CreateInvite(invite);
    ASSERT_TRUE(status.ok()) << status;
  }
  EnrolOutcome Enrol(const Enrolling& enrolling) {
    const auto outcome = identities().Enrol(enrolling);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : EnrolOutcome{};
  }
  // Enrols a node with an invite of its own, both with this name.
  v1::EnrolledIdentity EnrolNode(const std::string& name, bool ephemeral = false) {
    StoredInvite invite = MakeInvite("invite of " + name, name);
    invite.invite.mutable_scope()->set_ephemeral(ephemeral);
    Invite(invite);
    return Enrol(MakeEnrolling("invite of " + name, "key of " + name)).identity;
  }
  int64_t Revision() {
    const auto changed = identities().ListChanged(0);
    EXPECT_TRUE(changed.ok() && changed->has_value()) << changed.status();
    return changed.ok() && *changed ? (*changed)->revision : 0;
  }
  std::vector<std::string> Names(const std::string& role = "") {
    std::vector<std::string> names;
    const auto listed = identities().ListIdentities(role, "", 1000);
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const v1::EnrolledIdentity& one : *listed) names.push_back(one.name());
    return names;
  }
};

TEST_P(IdentityStoreContract, InvitesAreStoredAndListedNewestFirst) {
  StoredInvite first = MakeInvite("one");
  v1::InviteScope& scope = *first.invite.mutable_scope();
  (*scope.mutable_labels())["rack"] = "7";
  scope.set_price_per_hour(2.5);
  scope.set_ephemeral(true);
  Invite(first);
  Invite(MakeInvite("two"));
  const auto found = identities().GetInvite("one");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->secret_hash, "hash of one");
  EXPECT_EQ((*found)->invite.SerializeAsString(), first.invite.SerializeAsString());
  EXPECT_FALSE(identities().GetInvite("three")->has_value());
  const auto listed = identities().ListInvites(10);
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ(listed->at(0).invite_id(), "two");
  EXPECT_EQ(identities().ListInvites(1)->size(), 1U);
}

TEST_P(IdentityStoreContract, AnInviteMakesOneIdentity) {
  StoredInvite invite = MakeInvite("one");
  v1::InviteScope& scope = *invite.invite.mutable_scope();
  (*scope.mutable_labels())["rack"] = "7";
  scope.set_provider("vast.ai");
  scope.set_price_per_hour(2.5);
  *scope.mutable_identity_expire_time() =
      schema::ToTimestamp(kInviteTime + std::chrono::hours(100));
  Invite(invite);
  const Enrolling enrolling = MakeEnrolling("one", "key");
  const EnrolOutcome outcome = Enrol(enrolling);
  ASSERT_EQ(outcome.kind, Kind::kEnrolled);
  const v1::EnrolledIdentity& made = outcome.identity;
  EXPECT_EQ(made.identity_id(), enrolling.node_id);
  EXPECT_EQ(made.role(), "node");
  EXPECT_EQ(made.name(), "host");
  EXPECT_EQ(made.key_hash(), "key");
  EXPECT_EQ(made.serial(), "4A");
  EXPECT_EQ(made.invite_id(), "one");
  EXPECT_EQ(made.labels().at("rack"), "7");
  EXPECT_EQ(made.provider(), "vast.ai");
  EXPECT_EQ(made.price_per_hour(), 2.5);
  EXPECT_EQ(made.expire_time().seconds(), scope.identity_expire_time().seconds());
  const auto stored = identities().GetIdentity("host");
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(schema::DeterministicBytes(*stored), schema::DeterministicBytes(made));
  const auto used = identities().GetInvite("one");
  EXPECT_EQ((*used)->invite.identity_id(), enrolling.node_id);
  EXPECT_EQ((*used)->invite.identity_name(), "host");
  EXPECT_EQ(schema::FromTimestamp((*used)->invite.use_time()), enrolling.now);
}

TEST_P(IdentityStoreContract, TheSameKeyGetsTheSameIdentityUntilTheInviteExpires) {
  Invite(MakeInvite("one"));
  const EnrolOutcome first = Enrol(MakeEnrolling("one", "key"));
  Enrolling again = MakeEnrolling("one", "key");
  again.serial = "4B";
  const EnrolOutcome second = Enrol(again);
  ASSERT_EQ(second.kind, Kind::kEnrolled);
  EXPECT_EQ(second.identity.identity_id(), first.identity.identity_id());
  EXPECT_EQ(second.identity.name(), first.identity.name());
  EXPECT_EQ(second.identity.serial(), "4B");
  again.now = kInviteTime + std::chrono::minutes(30);
  EXPECT_EQ(Enrol(again).kind, Kind::kExpired);
}

TEST_P(IdentityStoreContract, OtherKeysLearnWhoUsedTheInvite) {
  Invite(MakeInvite("one"));
  Enrol(MakeEnrolling("one", "key"));
  const EnrolOutcome other = Enrol(MakeEnrolling("one", "other key"));
  EXPECT_EQ(other.kind, Kind::kUsed);
  EXPECT_EQ(other.invite.identity_name(), "host");
  EXPECT_TRUE(other.invite.has_use_time());
  ASSERT_TRUE(identities().RemoveIdentity("host").ok());
  EXPECT_EQ(Enrol(MakeEnrolling("one", "other key")).kind, Kind::kUsed);
  EXPECT_EQ(Enrol(MakeEnrolling("one", "key")).kind, Kind::kUsed);
}

TEST_P(IdentityStoreContract, UnknownExpiredAndRevokedInvitesMakeNothing) {
  EXPECT_EQ(Enrol(MakeEnrolling("none", "key")).kind, Kind::kUnknown);
  Invite(MakeInvite("one"));
  Enrolling late = MakeEnrolling("one", "key");
  late.now = kInviteTime + std::chrono::hours(1);
  EXPECT_EQ(Enrol(late).kind, Kind::kExpired);
  ASSERT_TRUE(identities().RevokeInvite("one", kInviteTime).ok());
  EXPECT_EQ(Enrol(MakeEnrolling("one", "key")).kind, Kind::kRevoked);
  ASSERT_TRUE(identities().RevokeInvite("one", kInviteTime + std::chrono::minutes(9)).ok());
  EXPECT_EQ(schema::FromTimestamp((*identities().GetInvite("one"))->invite.revoke_time()),
            kInviteTime);
  EXPECT_EQ(identities().RevokeInvite("none", kInviteTime).code(), Code::kNotFound);
  EXPECT_TRUE(Names().empty());
}

TEST_P(IdentityStoreContract, OfManyKeysOneGetsTheInvite) {
  Invite(MakeInvite("one"));
  std::vector<EnrolOutcome> outcomes(100);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    threads.emplace_back(
        [&, i] { outcomes[i] = Enrol(MakeEnrolling("one", "key-" + std::to_string(i))); });
  }
  for (std::thread& thread : threads) thread.join();
  int enrolled = 0;
  int used = 0;
  for (const EnrolOutcome& outcome : outcomes) {
    enrolled += outcome.kind == Kind::kEnrolled ? 1 : 0;
    used += outcome.kind == Kind::kUsed ? 1 : 0;
    EXPECT_EQ(outcome.invite.identity_name(), "host");
  }
  EXPECT_EQ(enrolled, 1);
  EXPECT_EQ(used, 99);
  EXPECT_EQ(Names(), std::vector<std::string>{"host"});
}

TEST_P(IdentityStoreContract, HostNamesGetANumberIfTheyAreTaken) {
  for (const char* host : {"host", "host", "host", "host-2", "hosts"}) {
    const std::string id = "invite-" + std::to_string(Names().size());
    Invite(MakeInvite(id));
    Enrolling enrolling = MakeEnrolling(id, "key of " + id);
    enrolling.host_name = host;
    EXPECT_EQ(Enrol(enrolling).kind, Kind::kEnrolled);
  }
  EXPECT_THAT(Names(),
              ::testing::UnorderedElementsAre("host", "host-2", "host-2-2", "host-3", "hosts"));
}

TEST_P(IdentityStoreContract, AFixedNameOfAnotherIsRefused) {
  EnrolNode("g1");
  Invite(MakeInvite("two", "g1"));
  const EnrolOutcome taken = Enrol(MakeEnrolling("two", "other key"));
  EXPECT_EQ(taken.kind, Kind::kNameTaken);
  EXPECT_EQ(taken.identity.key_hash(), "key of g1");
  Invite(MakeInvite("user", "g1", "viewer"));
  EXPECT_EQ(Enrol(MakeEnrolling("user", "key of a user")).kind, Kind::kNameTaken);
  ASSERT_TRUE(identities().RemoveIdentity("g1").ok());
  EXPECT_EQ(Enrol(MakeEnrolling("two", "other key")).kind, Kind::kEnrolled);
}

TEST_P(IdentityStoreContract, AKeyThatComesAgainKeepsItsIdAndGetsTheNewScope) {
  const v1::EnrolledIdentity node = EnrolNode("g1");
  StoredInvite invite = MakeInvite("two", "g2");
  (*invite.invite.mutable_scope()->mutable_labels())["rack"] = "8";
  Invite(invite);
  const EnrolOutcome again = Enrol(MakeEnrolling("two", "key of g1"));
  ASSERT_EQ(again.kind, Kind::kEnrolled);
  EXPECT_EQ(again.identity.identity_id(), node.identity_id());
  EXPECT_EQ(again.identity.name(), "g2");
  EXPECT_EQ(again.identity.labels().at("rack"), "8");
  Invite(MakeInvite("three"));
  EXPECT_EQ(Enrol(MakeEnrolling("three", "key of g1")).identity.name(), "g2");
  Invite(MakeInvite("user", "bob", "viewer"));
  EXPECT_EQ(Enrol(MakeEnrolling("user", "key of g1")).kind, Kind::kKeyTaken);
}

TEST_P(IdentityStoreContract, UsersHaveTheirNameAsId) {
  Invite(MakeInvite("one", "bob", "viewer"));
  const EnrolOutcome bob = Enrol(MakeEnrolling("one", "key"));
  ASSERT_EQ(bob.kind, Kind::kEnrolled);
  EXPECT_EQ(bob.identity.identity_id(), "bob");
  Invite(MakeInvite("two", "bob", "admin"));
  EXPECT_EQ(Enrol(MakeEnrolling("two", "key")).kind, Kind::kKeyTaken);
  EXPECT_EQ(Enrol(MakeEnrolling("two", "other key")).kind, Kind::kNameTaken);
  EnrolNode("g1");
  EXPECT_EQ(Names("viewer"), std::vector<std::string>{"bob"});
  EXPECT_EQ(identities().ListIdentities("", "bob", 10)->at(0).name(), "g1");
}

TEST_P(IdentityStoreContract, BannedKeysGetNothing) {
  const v1::EnrolledIdentity node = EnrolNode("g1");
  const auto banned = identities().Ban("g1", "stolen", "alice", kInviteTime);
  ASSERT_TRUE(banned.ok()) << banned.status();
  EXPECT_EQ(schema::FromTimestamp(banned->ban_time()), kInviteTime);
  EXPECT_EQ(banned->ban_reason(), "stolen");
  EXPECT_EQ(banned->banned_by(), "alice");
  EXPECT_EQ(Enrol(MakeEnrolling("invite of g1", "key of g1")).kind, Kind::kBanned);
  Invite(MakeInvite("two"));
  EXPECT_EQ(Enrol(MakeEnrolling("two", "key of g1")).kind, Kind::kBanned);
  EXPECT_FALSE(*identities().SetCertificate("key of g1", "4C", kInviteTime));
  const Status kept = identities().RemoveIdentity("g1");
  EXPECT_EQ(kept.code(), Code::kFailedPrecondition);

  const auto free = identities().Unban(node.identity_id());
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_FALSE(free->has_ban_time());
  EXPECT_EQ(free->ban_reason(), "");
  EXPECT_TRUE(*identities().SetCertificate("key of g1", "4C", kInviteTime));
  EXPECT_EQ(identities().GetIdentity("g1")->serial(), "4C");
  for (const Status& status :
       {identities().Ban("none", "", "", kInviteTime).status(), identities().Unban("g").status(),
        identities().RemoveIdentity("none"), identities().GetIdentity("none").status()}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
  }
}

TEST_P(IdentityStoreContract, KeysAreFound) {
  const v1::EnrolledIdentity node = EnrolNode("g1");
  const auto found = identities().FindKey("key of g1");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->identity_id(), node.identity_id());
  EXPECT_FALSE(identities().FindKey("none")->has_value());
  EXPECT_FALSE(*identities().SetCertificate("none", "4C", kInviteTime));
}

TEST_P(IdentityStoreContract, EveryChangeOfWhoMayCallGrowsTheRevision) {
  int64_t last = Revision();
  EXPECT_FALSE(identities().ListChanged(last)->has_value());
  const auto expect_change = [&](const char* what) {
    const auto changed = identities().ListChanged(last);
    ASSERT_TRUE(changed.ok()) << changed.status();
    ASSERT_TRUE(changed->has_value()) << what;
    EXPECT_GT((*changed)->revision, last) << what;
    last = (*changed)->revision;
  };
  EnrolNode("g1");
  expect_change("enrolled");
  ASSERT_EQ((*identities().ListChanged(0))->identities.size(), 1U);
  ASSERT_TRUE(identities().SetCertificate("key of g1", "4C", kInviteTime).ok());
  EXPECT_FALSE(identities().ListChanged(last)->has_value());
  ASSERT_TRUE(identities().Ban("g1", "", "", kInviteTime).ok());
  expect_change("banned");
  ASSERT_TRUE(identities().Unban("g1").ok());
  expect_change("unbanned");
  ASSERT_TRUE(identities().RemoveIdentity("g1").ok());
  expect_change("removed");
}

TEST_P(IdentityStoreContract, AbsentEphemeralNodesAreRemoved) {
  const auto connect = [&](const v1::EnrolledIdentity& identity) {
    const Status status =
        nodes().Connect("owner", MakeNode(identity.identity_id(), identity.name()), "", kStale);
    ASSERT_TRUE(status.ok()) << status;
  };
  const v1::EnrolledIdentity busy = EnrolNode("busy", true);
  const v1::EnrolledIdentity there = EnrolNode("there", true);
  const v1::EnrolledIdentity gone = EnrolNode("gone", true);
  const v1::EnrolledIdentity lasting = EnrolNode("lasting");
  EnrolNode("never-came", true);
  EnrolNode("banned", true);
  EnrolNode("renewed", true);
  for (const auto& one : {busy, there, gone, lasting}) connect(one);
  Create(MakeCampaign({MakeJob({busy.identity_id()})}));
  ASSERT_EQ(Claim({busy.identity_id()}).size(), 1U);
  stores_->Pass(std::chrono::hours(2));
  const WallTime later = kInviteTime + std::chrono::hours(2);
  ASSERT_TRUE(nodes().Heartbeat("owner", {there.identity_id()}).ok());
  ASSERT_TRUE(identities().Ban("banned", "", "", later).ok());
  ASSERT_TRUE(
      identities().SetCertificate("key of renewed", "4C", later + std::chrono::minutes(9)).ok());
  const int64_t revision = Revision();
  const auto removed = identities().RemoveAbsent(std::chrono::hours(1), later);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_THAT(*removed, ::testing::ElementsAre("gone", "never-came"));
  EXPECT_THAT(Names(), ::testing::ElementsAre("banned", "busy", "lasting", "renewed", "there"));
  std::vector<std::string> left;
  const auto listed = nodes().ListNodes(kStale, NodeStore::Benchmarks::kNo);
  ASSERT_TRUE(listed.ok()) << listed.status();
  for (const v1::Node& node : *listed) {
    left.push_back(node.description().name());
  }
  EXPECT_THAT(left, ::testing::ElementsAre("busy", "lasting", "there"));
  EXPECT_GT(Revision(), revision);
  EXPECT_TRUE(identities().RemoveAbsent(std::chrono::hours(1), later)->empty());
}

TEST_P(IdentityStoreContract, OldRecordsAreRemoved) {
  EnrolNode("old");
  EnrolNode("banned");
  EnrolNode("renewed");
  const WallTime later = kInviteTime + kRenewable + std::chrono::hours(5);
  StoredInvite brief = MakeInvite("brief", "brief");
  *brief.invite.mutable_scope()->mutable_identity_expire_time() =
      schema::ToTimestamp(later - kKeptAfterEnd - std::chrono::hours(1));
  *brief.invite.mutable_expire_time() = schema::ToTimestamp(later);
  Invite(brief);
  Enrol(MakeEnrolling("brief", "key of brief"));
  for (const char* key : {"key of renewed", "key of brief"}) {
    ASSERT_TRUE(*identities().SetCertificate(key, "4C", later));
  }
  ASSERT_TRUE(identities().Ban("banned", "", "", later).ok());
  ASSERT_TRUE(identities().RemoveOld(later - std::chrono::hours(5)).ok());
  EXPECT_THAT(Names(), ::testing::ElementsAre("banned", "brief", "old", "renewed"));
  const Status status = identities().RemoveOld(later);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Names(), ::testing::ElementsAre("banned", "renewed"));
  ASSERT_EQ(identities().ListInvites(10)->size(), 1U);
  EXPECT_EQ(identities().ListInvites(10)->at(0).invite_id(), "brief");
}

TEST_P(IdentityStoreContract, TheNewestAttemptsAreKept) {
  for (int i = 0; i < kKeptAttempts + 5; ++i) {
    v1::EnrolmentAttempt attempt;
    *attempt.mutable_time() = schema::ToTimestamp(kInviteTime + std::chrono::seconds(i));
    attempt.set_address("10.0.0.1");
    attempt.set_subject("one");
    attempt.set_reason(v1::REASON_NOT_PERMITTED);
    attempt.set_message("attempt " + std::to_string(i));
    ASSERT_TRUE(identities().AddAttempt(attempt).ok());
  }
  const auto attempts = identities().ListAttempts();
  ASSERT_TRUE(attempts.ok()) << attempts.status();
  ASSERT_EQ(attempts->size(), static_cast<size_t>(kKeptAttempts));
  EXPECT_EQ(attempts->front().message(), "attempt " + std::to_string(kKeptAttempts + 4));
  EXPECT_EQ(attempts->front().reason(), v1::REASON_NOT_PERMITTED);
  EXPECT_EQ(attempts->front().address(), "10.0.0.1");
  EXPECT_EQ(attempts->back().message(), "attempt 5");
}

}  // namespace assay::storage
