#include "cli/views/identity_view.h"

#include <gtest/gtest.h>

#include "cli/views/context_view.h"
#include "tests/wording.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

constexpr int64_t kNoon = 1795694400;  // 2026-11-26T12:00:00Z

WallTime Now() {
  google::protobuf::Timestamp now;
  now.set_seconds(kNoon);
  return schema::FromTimestamp(now);
}

v1::Invite MakeInvite(const std::string& id, const std::string& role, const std::string& name) {
  v1::Invite invite;
  invite.set_invite_id(id);
  invite.mutable_scope()->set_role(role);
  invite.mutable_scope()->set_name(name);
  invite.set_created_by("ann");
  invite.mutable_create_time()->set_seconds(kNoon - 600);
  invite.mutable_expire_time()->set_seconds(kNoon + 1200);
  return invite;
}

std::vector<v1::Invite> Invites() {
  std::vector<v1::Invite> invites = {MakeInvite("7hq2kd9w3mzx5c8r", "node", "gpu-7"),
                                     MakeInvite("a7hq2kd9w3mzx5c8", "node", ""),
                                     MakeInvite("b7hq2kd9w3mzx5c8", "viewer", "bob@example.com"),
                                     MakeInvite("c7hq2kd9w3mzx5c8", "node", "=1+1\x1b[2J")};
  v1::InviteScope& scope = *invites[0].mutable_scope();
  scope.set_provider("vast");
  scope.set_price_per_hour(2.499);
  (*scope.mutable_labels())["rack"] = "3";
  (*scope.mutable_labels())["Row"] = "a=b";
  scope.set_ephemeral(true);
  scope.mutable_identity_expire_time()->set_seconds(kNoon + 86400);
  invites[1].set_identity_id("3f2a91c0-1111-4222-8333-444455556666");
  invites[1].set_identity_name("ubuntu-2");
  invites[1].mutable_use_time()->set_seconds(kNoon - 60);
  invites[2].mutable_revoke_time()->set_seconds(kNoon - 30);
  invites[3].mutable_expire_time()->set_seconds(kNoon - 1);
  return invites;
}

std::vector<v1::EnrolledIdentity> Identities() {
  std::vector<v1::EnrolledIdentity> identities(4);
  const char* names[] = {"ann", "bob", "gpu-7", "gpu-8"};
  for (size_t i = 0; i < identities.size(); ++i) {
    v1::EnrolledIdentity& one = identities[i];
    const bool user = i < 2;
    one.set_identity_id(user ? names[i] : "3f2a91c0-1111-4222-8333-444455556666");
    one.set_name(names[i]);
    one.set_role(user ? "admin" : "node");
    one.set_invite_id("7hq2kd9w3mzx5c8r");
    one.mutable_create_time()->set_seconds(kNoon - 86400);
    one.mutable_certificate_expire_time()->set_seconds(kNoon + 3600);
  }
  identities[1].mutable_expire_time()->set_seconds(kNoon - 10);
  identities[2].mutable_ban_time()->set_seconds(kNoon - 100);
  identities[2].set_banned_by("ann");
  identities[2].set_ban_reason("its results of 25 November were those of another machine");
  identities[3].mutable_certificate_expire_time()->set_seconds(kNoon - 7200);
  return identities;
}

std::vector<v1::EnrolmentAttempt> Attempts() {
  std::vector<v1::EnrolmentAttempt> attempts(2);
  attempts[0].mutable_time()->set_seconds(kNoon);
  attempts[0].set_address("203.0.113.7");
  attempts[0].set_subject("7hq2kd9w3mzx5c8r");
  attempts[0].set_reason(v1::REASON_INVITE_USED);
  attempts[0].set_message("the invite was used by node \"gpu-7\" at 2026-11-26T11:59:00Z");
  attempts[1].mutable_time()->set_seconds(kNoon - 5);
  attempts[1].set_address("2001:db8:85a3:8d3:1319:8a2e:370:7348");
  attempts[1].set_reason(v1::REASON_BAD_INVITE_TOKEN);
  attempts[1].set_message("the token was cut off\n");
  return attempts;
}

TEST(IdentityViewTest, InviteSaysWhatItAllows) {
  std::string text;
  for (const v1::Invite& one : Invites()) text += InviteText(one) + "\n";
  EXPECT_WORDING("views/invite", text);
}

TEST(IdentityViewTest, InvitesFitNarrowAndWideTerminals) {
  EXPECT_WORDING("views/invites-80", InvitesText(Invites(), Now(), {80, false}));
  EXPECT_WORDING("views/invites-200", InvitesText(Invites(), Now(), {200, false}));
  EXPECT_WORDING("views/invites-csv", InvitesCsv(Invites(), Now()));
}

TEST(IdentityViewTest, IdentitiesFitNarrowAndWideTerminals) {
  EXPECT_WORDING("views/identities-80", IdentitiesText(Identities(), Now(), {80, false}));
  EXPECT_WORDING("views/identities-200", IdentitiesText(Identities(), Now(), {200, false}));
  EXPECT_WORDING("views/identities-csv", IdentitiesCsv(Identities(), Now()));
}

TEST(IdentityViewTest, AttemptsFitNarrowAndWideTerminals) {
  EXPECT_WORDING("views/attempts-80", AttemptsText(Attempts(), {80, false}));
  EXPECT_WORDING("views/attempts-200", AttemptsText(Attempts(), {200, false}));
  EXPECT_WORDING("views/attempts-csv", AttemptsCsv(Attempts()));
}

std::vector<ContextRow> Contexts() {
  std::vector<ContextRow> rows(3);
  rows[0].name = "gpu.example.com";
  rows[0].current = true;
  rows[0].context.identity = "/home/ann/.config/assay/identities/gpu.example.com";
  rows[0].coordinator = "gpu.example.com:7900,gpu2.example.com:7900";
  identity::Enrolled& ann = rows[0].enrolled.emplace();
  ann.fleet = "assay";
  ann.name = "ann";
  ann.role = "admin";
  ann.join.url = "https://gpu.example.com:7943";
  ann.expire_time = Now();
  rows[1].name = "lab";
  rows[1].coordinator = "10.0.0.1:7900";
  rows[1].context.tls = {"/etc/assay/ann.pem", "/etc/assay/ann.key", "/etc/assay/ca.pem"};
  rows[2].name = "old";
  rows[2].context.identity = "/gone";
  rows[2].problem = "the identity /gone does not exist";
  return rows;
}

TEST(ContextViewTest, ContextsFitNarrowAndWideTerminals) {
  EXPECT_WORDING("views/contexts-80", ContextsText(Contexts(), {80, false}));
  EXPECT_WORDING("views/contexts-200", ContextsText(Contexts(), {200, false}));
  EXPECT_WORDING("views/contexts-csv", ContextsCsv(Contexts()));
}

TEST(ContextViewTest, OneContextIsShownInFull) {
  std::string text;
  for (const ContextRow& row : Contexts()) text += ContextText(row) + ContextJson(row) + "\n\n";
  EXPECT_WORDING("views/context", text);
}

}  // namespace
}  // namespace assay::cli
