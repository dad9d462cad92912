#include "coordinator/core/enrolment.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <thread>

#include "common/text.h"
#include "common/uuid.h"
#include "identity/invite_token.h"
#include "storage/fakes/fake_stores.h"
#include "tests/storage_records.h"
#include "tests/temporary_folder.h"
#include "tests/unit/coordinator/manual_executor.h"
#include "tests/unit/identity/records.h"
#include "tests/wording.h"
#include "wire/certificate.h"
#include "wire/durations.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const Identity kAlice = {Role::kAdmin, "lab", "alice", "", "", ""};

// A node or user that wants to join.
struct Joiner {
  Joiner() : key(std::move(identity::NewKey().value())) {}
  std::string Request() const { return identity::RequestPem(key.get()); }
  std::string KeyHash() const { return identity::KeyHash(key.get()); }

  identity::Key key;
};

// A store whose database can be made unreachable.
class FlakyIdentityStore : public storage::FakeIdentityStore {
 public:
  using FakeIdentityStore::FakeIdentityStore;
  bool away = false;
  int reads = 0;

  Result<std::optional<Identities>> ListChanged(int64_t revision) override {
    ++reads;
    if (away) return Unavailable("the database is away");
    return FakeIdentityStore::ListChanged(revision);
  }
  Status RemoveOld(WallTime now) override {
    if (away) return Unavailable("the database is away");
    return FakeIdentityStore::RemoveOld(now);
  }
  Result<std::optional<storage::StoredInvite>> GetInvite(const std::string& id) override {
    if (away) return Unavailable("the database is away");
    return FakeIdentityStore::GetInvite(id);
  }
};

class EnrolmentTest : public ::testing::Test {
 protected:
  EnrolmentTest() {
    authority = *identity::Authority::Open(folder.path() + "/ca", "lab", clock.WallNow());
    enrolment = std::make_unique<Enrolment>(*authority, clock, store, *bans,
                                            std::vector<std::string>{"10.0.0.1:7900"});
    EXPECT_TRUE(bans->Start().ok());
  }

  // Returns the token of a new invite.
  std::string Invite(const std::string& role = "node", const std::string& name = "") {
    v1::CreateInviteRequest request;
    request.mutable_scope()->set_role(role);
    request.mutable_scope()->set_name(name);
    return Invite(request);
  }
  std::string Invite(const v1::CreateInviteRequest& request) {
    const auto response = enrolment->CreateInvite(request, kAlice);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->token() : "";
  }

  Result<v1::EnrolResponse> Enrol(const std::string& token, const Joiner& joiner,
                                  const std::string& host = "g1") {
    v1::EnrolRequest request;
    request.set_token(token);
    request.set_certificate_request(joiner.Request());
    request.set_host_name(host);
    *request.mutable_time() = schema::ToTimestamp(clock.WallNow());
    return enrolment->Enrol(request, "10.0.0.7");
  }
  // Returns the identity in the certificate that a response contains.
  static Identity CertifiedBy(const std::string& chain) {
    const auto identity = rpc::IdentityOfPem(chain, rpc::CertificateUse::kClient);
    EXPECT_TRUE(identity.ok()) << identity.status();
    return identity.ok() ? *identity : Identity();
  }
  // Enrols a node or user, and returns the identity in its certificate.
  Identity Join(const Joiner& joiner, const std::string& role = "node",
                const std::string& name = "g1") {
    const auto response = Enrol(Invite(role, name), joiner);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? CertifiedBy(response->certificate_chain()) : Identity();
  }

  // Expects a refusal, which must also be the newest stored attempt.
  void ExpectRefused(const Status& status, Code code, Reason reason, const std::string& field,
                     const std::string& wording) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.reason(), reason) << status;
    ASSERT_EQ(status.violations().size(), 1U) << status;
    EXPECT_EQ(status.violations()[0].field, field);
    EXPECT_NE(status.hint(), "");
    EXPECT_WORDING("coordinator/enrol-" + wording, status.message());
    const auto attempts = enrolment->ListAttempts();
    ASSERT_TRUE(attempts.ok() && !attempts->empty()) << attempts.status();
    EXPECT_EQ(attempts->front().message(), status.message());
    EXPECT_EQ(attempts->front().address(), "10.0.0.7");
    EXPECT_EQ(static_cast<int>(attempts->front().reason()), static_cast<int>(reason));
  }

  TemporaryFolder folder;
  VirtualClock clock;
  ManualExecutor executor{clock};
  storage::FakeDatabase database{clock};
  FlakyIdentityStore store{database};
  storage::FakeNodeStore nodes{database};
  std::unique_ptr<identity::Authority> authority;
  std::shared_ptr<BanList> bans = std::make_shared<BanList>(clock, executor, store);
  std::unique_ptr<Enrolment> enrolment;
};

TEST_F(EnrolmentTest, ANodeGetsWhatItsInviteSays) {
  v1::CreateInviteRequest request;
  v1::InviteScope& scope = *request.mutable_scope();
  scope.set_role("node");
  scope.set_provider("vast.ai");
  scope.set_price_per_hour(2.5);
  (*scope.mutable_labels())["rack"] = "7";
  scope.set_ephemeral(true);
  const Joiner joiner;
  const auto response = Enrol(Invite(request), joiner);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->fleet(), "lab");
  EXPECT_EQ(response->name(), "g1");
  EXPECT_EQ(response->authority(), authority->pem());
  EXPECT_EQ(response->coordinators(0), "10.0.0.1:7900");
  EXPECT_EQ(response->scope().provider(), "vast.ai");
  EXPECT_EQ(response->scope().labels().at("rack"), "7");
  EXPECT_EQ(response->scope().price_per_hour(), 2.5);
  EXPECT_TRUE(response->scope().ephemeral());
  const Identity node = CertifiedBy(response->certificate_chain());
  EXPECT_EQ(node.role, Role::kNode);
  EXPECT_EQ(node.fleet, "lab");
  EXPECT_EQ(node.id, response->identity_id());
  EXPECT_EQ(node.name, "g1");
  EXPECT_EQ(node.key_hash, joiner.KeyHash());
  EXPECT_TRUE(bans->Check(node).ok());
  const auto stored = store.GetIdentity("g1");
  EXPECT_EQ(stored->serial(), node.serial);
  EXPECT_EQ(schema::FromTimestamp(stored->certificate_expire_time()), clock.WallNow() + hours(1));
  EXPECT_TRUE(enrolment->ListAttempts()->empty());
}

TEST_F(EnrolmentTest, AUserGetsARoleForTwelveHours) {
  const Joiner joiner;
  const Identity bob = Join(joiner, "submitter", "bob");
  EXPECT_EQ(bob.role, Role::kSubmitter);
  EXPECT_EQ(bob.id, "bob");
  EXPECT_TRUE(bans->Check(bob).ok());
  EXPECT_EQ(schema::FromTimestamp(store.GetIdentity("bob")->certificate_expire_time()),
            clock.WallNow() + hours(12));
}

TEST_F(EnrolmentTest, ALostAnswerStrandsNobody) {
  const std::string token = Invite();
  const Joiner joiner;
  const auto first = Enrol(token, joiner);
  clock.Advance(minutes(29));
  const auto second = Enrol(token, joiner);
  ASSERT_TRUE(first.ok() && second.ok()) << second.status();
  EXPECT_EQ(first->identity_id(), second->identity_id());
  EXPECT_TRUE(bans->Check(CertifiedBy(first->certificate_chain())).ok());
  EXPECT_TRUE(bans->Check(CertifiedBy(second->certificate_chain())).ok());
}

TEST_F(EnrolmentTest, RefusalsNameCauseAndCureAndAreRecorded) {
  const Joiner joiner;
  const auto refused = [&](const std::string& token) { return Enrol(token, joiner).status(); };
  ExpectRefused(refused("hello"), Code::kInvalidArgument, Reason::kBadInviteToken, "token",
                "foreign");
  ExpectRefused(refused(Invite().substr(0, 40)), Code::kInvalidArgument, Reason::kBadInviteToken,
                "token", "truncated");
  identity::InviteToken unknown = {"abcdefghijklmnop", std::string(32, 'x')};
  ExpectRefused(refused(identity::InviteTokenText(unknown)), Code::kNotFound,
                Reason::kUnknownInvite, "token", "unknown");
  // The right id with another secret is as good as unknown.
  unknown.id = identity::ParseInviteToken(Invite())->id;
  ExpectRefused(refused(identity::InviteTokenText(unknown)), Code::kNotFound,
                Reason::kUnknownInvite, "token", "unknown");

  v1::EnrolRequest bad;
  bad.set_token(Invite());
  bad.set_certificate_request("hello");
  ExpectRefused(enrolment->Enrol(bad, "10.0.0.7").status(), Code::kInvalidArgument,
                Reason::kBadCertificate, "certificate_request", "request");
  v1::EnrolRequest skewed;
  skewed.set_token(Invite());
  skewed.set_certificate_request(joiner.Request());
  *skewed.mutable_time() = schema::ToTimestamp(clock.WallNow() - hours(3));
  ExpectRefused(enrolment->Enrol(skewed, "10.0.0.7").status(), Code::kFailedPrecondition,
                Reason::kClockSkew, "time", "clock");
  skewed.mutable_time()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(enrolment->Enrol(skewed, "10.0.0.7").status().code(), Code::kFailedPrecondition);

  const std::string revoked = Invite();
  ASSERT_TRUE(enrolment->RevokeInvite(identity::ParseInviteToken(revoked)->id).ok());
  ExpectRefused(refused(revoked), Code::kPermissionDenied, Reason::kInviteRevoked, "token",
                "revoked");
  const std::string token = Invite();
  const Joiner first;
  ASSERT_TRUE(Enrol(token, first).ok());
  ExpectRefused(refused(token), Code::kPermissionDenied, Reason::kInviteUsed, "token", "used");
  ExpectRefused(refused(Invite("node", "g1")), Code::kAlreadyExists, Reason::kNodeNameTaken, "name",
                "name");
  ExpectRefused(Enrol(Invite("viewer", "bob"), first).status(), Code::kAlreadyExists,
                Reason::kKeyTaken, "certificate_request", "key");
  ExpectRefused(refused(""), Code::kUnauthenticated, Reason::kNoIdentity, "certificate_request",
                "not-enrolled");
  const std::string expired = Invite();
  clock.Advance(minutes(31));
  ExpectRefused(refused(expired), Code::kFailedPrecondition, Reason::kInviteExpired, "token",
                "expired");
}

TEST_F(EnrolmentTest, TheDatabaseBeingAwayIsNoRefusal) {
  const std::string token = Invite();
  store.away = true;
  EXPECT_EQ(Enrol(token, Joiner()).status().code(), Code::kUnavailable);
  EXPECT_TRUE(enrolment->ListAttempts()->empty());
}

TEST_F(EnrolmentTest, AFloodOfAttemptsDoesNotFillTheDatabase) {
  v1::EnrolRequest request;
  request.set_token("assay1." + std::string(1 << 20, 'x'));
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(enrolment->Enrol(request, std::string(1 << 16, '\x1b')).ok());
  }
  auto attempts = *enrolment->ListAttempts();
  EXPECT_EQ(attempts.size(), 100U);
  EXPECT_LT(attempts[0].ByteSizeLong(), 1000U);
  EXPECT_EQ(attempts[0].address().find('\x1b'), std::string::npos);
  clock.Advance(seconds(5));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(enrolment->Enrol(request, "10.0.0.7").ok());
  EXPECT_EQ(enrolment->ListAttempts()->size(), 105U);
}

TEST_F(EnrolmentTest, ACertificateIsRenewedForItsOwnKey) {
  const Joiner joiner;
  const Identity node = Join(joiner);
  clock.Advance(minutes(40));
  v1::RenewCertificateRequest request;
  request.set_certificate_request(joiner.Request());
  const auto renewed = enrolment->Renew(request, node, "10.0.0.7");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const Identity again = CertifiedBy(renewed->certificate_chain());
  EXPECT_EQ(again.id, node.id);
  EXPECT_EQ(again.key_hash, node.key_hash);
  EXPECT_NE(again.serial, node.serial);
  EXPECT_TRUE(bans->Check(again).ok());
  EXPECT_EQ(store.GetIdentity("g1")->serial(), again.serial);

  const Joiner other;
  request.set_certificate_request(other.Request());
  ExpectRefused(enrolment->Renew(request, node, "10.0.0.7").status(), Code::kPermissionDenied,
                Reason::kNotPermitted, "certificate_request", "other-key");
  Identity forged = node;
  forged.key_hash = other.KeyHash();
  EXPECT_EQ(enrolment->Renew(request, forged, "10.0.0.7").status().code(), Code::kUnauthenticated);
  EXPECT_FALSE(enrolment->Renew(request, kLocalAdmin, "127.0.0.1").ok());
}

TEST_F(EnrolmentTest, AnExpiredCertificateHasAWayBackForThirtyDays) {
  const Joiner joiner;
  const Identity node = Join(joiner);
  clock.Advance(hours(24 * 30));
  const auto back = Enrol("", joiner);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->identity_id(), node.id);
  EXPECT_EQ(back->name(), "g1");
  clock.Advance(hours(24 * 30 + 2));
  ExpectRefused(Enrol("", joiner).status(), Code::kUnauthenticated, Reason::kNoIdentity,
                "certificate_request", "too-late");
}

TEST_F(EnrolmentTest, AnIdentityEndsWithItsTime) {
  v1::CreateInviteRequest request;
  request.mutable_scope()->set_role("node");
  *request.mutable_scope()->mutable_identity_expire_time() =
      schema::ToTimestamp(clock.WallNow() + minutes(90));
  const Joiner joiner;
  const auto response = Enrol(Invite(request), joiner);
  ASSERT_TRUE(response.ok()) << response.status();
  const Identity node = CertifiedBy(response->certificate_chain());
  int changes = 0;
  bans->OnChange([&] { ++changes; });
  executor.Advance(minutes(60));
  ASSERT_TRUE(Enrol("", joiner).ok());
  EXPECT_EQ(schema::FromTimestamp(store.GetIdentity("g1")->certificate_expire_time()),
            clock.WallNow() + minutes(30));
  EXPECT_TRUE(bans->Check(node).ok());
  changes = 0;
  executor.Advance(minutes(30) + seconds(4));
  EXPECT_EQ(changes, 1) << "streams must be closed";
  EXPECT_EQ(bans->Check(node).code(), Code::kUnauthenticated);
  ExpectRefused(Enrol("", joiner).status(), Code::kUnauthenticated, Reason::kNoIdentity,
                "certificate_request", "ended");
}

TEST_F(EnrolmentTest, ABanTakesEffectAtOnceAndEndsWithUnban) {
  const Joiner joiner;
  const Identity node = Join(joiner);
  int changes = 0;
  bans->OnChange([&] { ++changes; });
  v1::BanIdentityRequest request;
  request.set_identity("g1");
  request.set_reason("stolen");
  const auto banned = enrolment->Ban(request, kAlice);
  ASSERT_TRUE(banned.ok()) << banned.status();
  EXPECT_EQ(banned->banned_by(), "alice");
  EXPECT_EQ(changes, 1);
  const Status refused = bans->Check(node);
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.reason(), Reason::kBanned);
  EXPECT_WORDING("coordinator/banned", refused.ToString());
  ExpectRefused(Enrol("", joiner).status(), Code::kPermissionDenied, Reason::kBanned, "identity",
                "banned");
  ExpectRefused(Enrol(Invite(), joiner).status(), Code::kPermissionDenied, Reason::kBanned,
                "identity", "banned");
  v1::RenewCertificateRequest renewal;
  renewal.set_certificate_request(joiner.Request());
  ExpectRefused(enrolment->Renew(renewal, node, "10.0.0.7").status(), Code::kPermissionDenied,
                Reason::kBanned, "identity", "banned");
  EXPECT_EQ(enrolment->RemoveIdentity("g1").code(), Code::kFailedPrecondition);

  ASSERT_TRUE(enrolment->Unban("g1").ok());
  EXPECT_TRUE(bans->Check(node).ok());
  EXPECT_TRUE(Enrol("", joiner).ok());
  request.set_reason(std::string(1001, 'x'));
  EXPECT_EQ(enrolment->Ban(request, kAlice).status().code(), Code::kInvalidArgument);
  request.set_reason("");
  request.set_identity("g2");
  EXPECT_EQ(enrolment->Ban(request, kAlice).status().code(), Code::kNotFound);
}

TEST_F(EnrolmentTest, ARemovedIdentityIsRefusedAtOnceAndItsNameIsFree) {
  const Joiner joiner;
  const Identity node = Join(joiner);
  ASSERT_TRUE(enrolment->RemoveIdentity("g1").ok());
  EXPECT_EQ(bans->Check(node).code(), Code::kUnauthenticated);
  const Joiner other;
  const Identity next = Join(other);
  EXPECT_EQ(next.name, "g1");
  EXPECT_EQ(bans->Check(node).code(), Code::kUnauthenticated);
  EXPECT_TRUE(bans->Check(next).ok());
}

TEST_F(EnrolmentTest, ChangesAtAnotherCoordinatorArriveWithinFiveSeconds) {
  const auto replica = std::make_shared<BanList>(clock, executor, store);
  int changes = 0;
  replica->OnChange([&] { ++changes; });
  const Joiner joiner;
  const Identity node = Join(joiner);
  EXPECT_EQ(replica->Check(node).code(), Code::kUnavailable) << "nothing was read yet";
  ASSERT_TRUE(replica->Start().ok());
  EXPECT_TRUE(replica->Check(node).ok());

  const Identity second = Join(Joiner(), "node", "g2");
  EXPECT_EQ(replica->Check(second).code(), Code::kUnavailable) << "it may have just been enrolled";
  executor.Advance(seconds(5));
  EXPECT_TRUE(replica->Check(second).ok());
  v1::BanIdentityRequest request;
  request.set_identity("g2");
  ASSERT_TRUE(enrolment->Ban(request, kAlice).ok());
  changes = 0;
  executor.Advance(seconds(5));
  EXPECT_EQ(replica->Check(second).code(), Code::kPermissionDenied);
  EXPECT_EQ(changes, 1);
}

TEST_F(EnrolmentTest, OthersAreUnknownUnlessTheyAreCoordinatorsOrLocal) {
  const Joiner joiner;
  Identity node = Join(joiner);
  node.key_hash = Joiner().KeyHash();
  const Identity stranger = {Role::kAdmin, "lab", "eve", "", "", "key"};
  for (const Identity& one : {node, stranger, Identity()}) {
    EXPECT_EQ(bans->Check(one).code(), Code::kUnavailable);
  }
  executor.Advance(seconds(5));
  for (const Identity& one : {node, stranger, Identity()}) {
    EXPECT_EQ(bans->Check(one).code(), Code::kUnauthenticated);
    EXPECT_EQ(bans->Check(one).reason(), Reason::kNoIdentity);
  }
  for (const Role role : {Role::kCoordinator, Role::kProxy, Role::kLocalAdmin}) {
    EXPECT_TRUE(bans->Check({role, "lab", "1", "", "", ""}).ok());
  }
}

TEST_F(EnrolmentTest, WhileTheDatabaseIsAwayTheLastStateRemains) {
  const Identity node = Join(Joiner());
  store.away = true;
  executor.Advance(minutes(5));
  EXPECT_TRUE(bans->Check(node).ok());
  store.away = false;
  const int before = store.reads;
  executor.Advance(seconds(10));
  EXPECT_EQ(store.reads - before, 5);
}

TEST_F(EnrolmentTest, InvitesAreChecked) {
  const auto fields = [&](const std::function<void(v1::CreateInviteRequest&)>& change) {
    v1::CreateInviteRequest request;
    request.mutable_scope()->set_role("node");
    change(request);
    std::vector<std::string> found;
    const Status status = enrolment->CreateInvite(request, kAlice).status();
    for (const Violation& violation : status.violations()) {
      found.push_back(violation.field);
    }
    return assay::Join(found);
  };
  using Request = v1::CreateInviteRequest;
  const auto lifetime = [&](Duration time) {
    return fields([&](Request& request) { *request.mutable_lifetime() = ToProto(time); });
  };
  EXPECT_EQ(lifetime(minutes(1)), "");
  EXPECT_EQ(lifetime(hours(24 * 7)), "");
  EXPECT_EQ(lifetime(seconds(59)), "lifetime");
  EXPECT_EQ(lifetime(hours(24 * 8)), "lifetime");
  EXPECT_EQ(lifetime(seconds(-5)), "lifetime");
  const auto role = [&](const std::string& text) {
    return fields([&](Request& request) { request.mutable_scope()->set_role(text); });
  };
  for (const char* bad : {"", "none", "coordinator", "proxy", "local-admin", "king"}) {
    EXPECT_EQ(role(bad), "scope.role") << bad;
  }
  EXPECT_EQ(role("viewer"), "scope.name") << "users need a name";
  const auto scope = [&](const std::function<void(v1::InviteScope&)>& change) {
    return fields([&](Request& request) { change(*request.mutable_scope()); });
  };
  EXPECT_EQ(scope([](auto& s) { s.set_name("rack 7"); }), "");
  EXPECT_EQ(scope([](auto& s) { s.set_name("a\nb"); }), "scope.name");
  EXPECT_EQ(scope([](auto& s) { s.set_name(std::string(201, 'a')); }), "scope.name");
  for (const std::string& bad : {std::string("a/b"), std::string("a b"), std::string(65, 'a'),
                                 std::string("b\xc3\xb6"), NewUuid()}) {
    EXPECT_EQ(scope([&](auto& s) {
                s.set_role("viewer");
                s.set_name(bad);
              }),
              "scope.name")
        << bad;
  }
  EXPECT_EQ(scope([](auto& s) {
              s.set_role("viewer");
              s.set_name("bob@example.com");
              s.set_provider("x");
              s.set_ephemeral(true);
              s.set_price_per_hour(1);
              (*s.mutable_labels())["a"] = "b";
            }),
            "scope.labels, scope.provider, scope.price_per_hour, scope.ephemeral");
  EXPECT_EQ(scope([](auto& s) { s.set_price_per_hour(-1); }), "scope.price_per_hour");
  EXPECT_EQ(scope([](auto& s) { s.set_price_per_hour(std::nan("")); }), "scope.price_per_hour");
  EXPECT_EQ(scope([](auto& s) { s.set_provider("a\x1b"); }), "scope.provider");
  EXPECT_EQ(scope([](auto& s) { (*s.mutable_labels())["a b"] = "c"; }), "scope.labels");
  EXPECT_EQ(scope([](auto& s) { (*s.mutable_labels())["a"] = std::string(257, 'x'); }),
            "scope.labels");
  EXPECT_EQ(scope([](auto& s) {
              for (int i = 0; i < 65; ++i) (*s.mutable_labels())["k" + std::to_string(i)] = "";
            }),
            "scope.labels");
  EXPECT_EQ(scope([&](auto& s) {
              *s.mutable_identity_expire_time() = schema::ToTimestamp(clock.WallNow());
            }),
            "scope.identity_expire_time");
}

TEST_F(EnrolmentTest, InvitesAndIdentitiesAreListedWithoutSecrets) {
  const std::string token = Invite("node", "g1");
  ASSERT_TRUE(Enrol(token, Joiner()).ok());
  const auto invites = enrolment->ListInvites();
  ASSERT_EQ(invites->size(), 1U);
  EXPECT_EQ(invites->at(0).created_by(), "alice");
  EXPECT_EQ(invites->at(0).identity_name(), "g1");
  EXPECT_EQ(schema::FromTimestamp(invites->at(0).expire_time()), clock.WallNow() + minutes(30));
  const std::string secret = identity::ParseInviteToken(token)->secret;
  EXPECT_EQ(invites->at(0).SerializeAsString().find(secret), std::string::npos);
  EXPECT_NE((*store.GetInvite(invites->at(0).invite_id()))->secret_hash, secret);

  Join(Joiner(), "viewer", "bob");
  PageRequest page;
  page.size = 1;
  auto first = enrolment->ListIdentities("", page);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->items.size(), 1U);
  EXPECT_EQ(first->items[0].name(), "bob");
  page.token = first->next_token;
  EXPECT_EQ(enrolment->ListIdentities("", page)->items[0].name(), "g1");
  EXPECT_EQ(enrolment->ListIdentities("viewer", {})->items.size(), 1U);
  EXPECT_EQ(enrolment->ListIdentities("king", {}).status().code(), Code::kInvalidArgument);
}

TEST_F(EnrolmentTest, AHostNameThatIsNoNameIsReplaced) {
  for (const std::string& host : {std::string(), std::string("a\nb"), std::string("x; touch y"),
                                  std::string("-h"), NewUuid(), std::string(1000, 'a')}) {
    const auto response = Enrol(Invite(), Joiner(), host);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->name().substr(0, 4), host.size() < 1000 ? "node" : "aaaa");
  }
}

// A ban names an identity by its id or name, so no name may look like another's id.
TEST_F(EnrolmentTest, AnInviteMayNotNameANodeLikeAnId) {
  v1::CreateInviteRequest request;
  request.mutable_scope()->set_role("node");
  request.mutable_scope()->set_name(NewUuid());
  const Status refused = enrolment->CreateInvite(request, kAlice).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  ASSERT_EQ(refused.violations().size(), 1U);
  EXPECT_EQ(refused.violations()[0].field, "scope.name");
}

TEST_F(EnrolmentTest, AClockThatIsSetForwardRemovesNoIdentity) {
  ASSERT_TRUE(Enrol(Invite(), Joiner()).ok());
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  clock.Advance(hours(2));
  clock.JumpWall(hours(24 * 400));
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  EXPECT_TRUE(store.GetIdentity("g1").ok());
}

// A lost response, for example, lets a node enrol again with the same invite.
TEST_F(EnrolmentTest, ABanHoldsAfterTheSameKeyEnrolsOnceMore) {
  const Joiner joiner;
  const auto response = Enrol(Invite(), joiner);
  ASSERT_TRUE(response.ok()) << response.status();
  const auto before = store.GetIdentity("g1");
  ASSERT_TRUE(before.ok());
  v1::BanIdentityRequest ban;
  ban.set_identity("g1");
  ASSERT_TRUE(enrolment->Ban(ban, kAlice).ok());
  bans->Put(*before);  // From before the ban.
  EXPECT_EQ(bans->Check(CertifiedBy(response->certificate_chain())).reason(), Reason::kBanned);
}

TEST_F(EnrolmentTest, AbsentEphemeralNodesAreRemovedOnlyWhileSomeoneWatched) {
  v1::CreateInviteRequest request;
  request.mutable_scope()->set_role("node");
  request.mutable_scope()->set_ephemeral(true);
  const auto response = Enrol(Invite(request), Joiner());
  ASSERT_TRUE(response.ok()) << response.status();
  const Identity node = CertifiedBy(response->certificate_chain());
  ASSERT_TRUE(nodes.Connect("owner", storage::MakeNode(node.id, "g1"), "", minutes(1)).ok());
  // No coordinator ran for three hours. The node comes back in a moment.
  clock.Advance(hours(3));
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  clock.Advance(minutes(59));
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  EXPECT_TRUE(store.GetIdentity("g1").ok());
  store.away = true;
  clock.Advance(minutes(2));
  EXPECT_FALSE(enrolment->RemoveGone().ok());
  store.away = false;
  clock.Advance(minutes(2));
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  EXPECT_TRUE(store.GetIdentity("g1").ok());
  clock.Advance(minutes(61));
  ASSERT_TRUE(enrolment->RemoveGone().ok());
  EXPECT_EQ(store.GetIdentity("g1").status().code(), Code::kNotFound);
  EXPECT_EQ(nodes.GetNode("g1", minutes(1)).status().code(), Code::kNotFound);
  EXPECT_EQ(bans->Check(node).code(), Code::kUnauthenticated);
}

TEST_F(EnrolmentTest, OfManyKeysOneGetsTheInvite) {
  const std::string token = Invite();
  std::vector<Joiner> joiners(100);
  std::vector<Result<v1::EnrolResponse>> responses(joiners.size(), Internal("not run"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < joiners.size(); ++i) {
    threads.emplace_back([&, i] { responses[i] = Enrol(token, joiners[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  int enrolled = 0;
  for (const auto& response : responses) {
    enrolled += response.ok() ? 1 : 0;
    EXPECT_EQ(response.status().code(), response.ok() ? Code::kOk : Code::kPermissionDenied);
  }
  EXPECT_EQ(enrolled, 1);
}

// Prints a figure; asserts no time.
TEST_F(EnrolmentTest, AThousandNodesEnrol) {
  std::vector<Joiner> joiners(1000);
  std::vector<std::string> tokens;
  for (size_t i = 0; i < joiners.size(); ++i) tokens.push_back(Invite());
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  std::atomic<int> enrolled = 0;
  for (size_t part = 0; part < 2; ++part) {
    threads.emplace_back([&, part] {
      for (size_t i = part; i < joiners.size(); i += 2) {
        enrolled += Enrol(tokens[i], joiners[i]).ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(enrolled, 1000);
  std::cout << "1,000 enrolments in " << took.count() << " s on two threads, store in memory\n";
}

}  // namespace
}  // namespace assay::coordinator
