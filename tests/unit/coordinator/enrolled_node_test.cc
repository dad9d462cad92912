// Nodes that have joined by an invite.
#include <gmock/gmock.h>

#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

class EnrolledNodeTest : public FleetFixture {
 protected:
  // Enrols the key "KEY" of the node with an invite of this scope.
  void Enrol(v1::Node& node, v1::InviteScope scope, const std::string& invite_id = "one") {
    storage::StoredInvite stored;
    scope.set_role("node");
    scope.set_name(node.description().name());
    stored.invite.set_invite_id(invite_id);
    *stored.invite.mutable_scope() = scope;
    *stored.invite.mutable_expire_time() =
        schema::ToTimestamp(clock.WallNow() + std::chrono::hours(1));
    ASSERT_TRUE(identities.CreateInvite(stored).ok());
    storage::Enrolling enrolling;
    enrolling.invite_id = invite_id;
    enrolling.key_hash = "KEY";
    enrolling.node_id = node.description().node_id();
    enrolling.serial = "01";
    enrolling.now = clock.WallNow();
    enrolling.certificate_expire_time = clock.WallNow() + std::chrono::hours(1);
    const auto outcome = identities.Enrol(enrolling);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->kind, storage::EnrolOutcome::Kind::kEnrolled);
  }

  std::shared_ptr<FakeAgent> AttachWith(const v1::Node& node, const std::string& key,
                                        const std::string& serial) {
    auto agent = Connect(node);
    agent->peer = {
        Role::kNode,    "lab", node.description().node_id(), node.description().name(), serial, key,
        WallTime::max()};
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = node.description();
    hello.mutable_hello()->set_protocol_revision(1);
    Say(agent, std::move(hello));
    return agent;
  }

  v1::NodeDescription Shown(const v1::Node& node) {
    return coordinator->GetNode(node.description().node_id())->description();
  }

  v1::Node a_ = MakeFleetNode("a", '1', 0);
};

TEST_F(EnrolledNodeTest, InviteOverridesTheAgentAndOperatorsOverrideTheInvite) {
  (*a_.mutable_description()->mutable_labels())["Rack"] = "own";
  (*a_.mutable_description()->mutable_labels())["disk"] = "own";
  a_.mutable_description()->set_provider("own");
  a_.mutable_description()->set_price_per_hour(0.01);
  v1::InviteScope scope;
  (*scope.mutable_labels())["rack"] = "7";
  scope.set_provider("rented");
  scope.set_price_per_hour(2.5);
  Enrol(a_, scope);
  const auto agent = AttachWith(a_, "KEY", "01");
  ASSERT_FALSE(agent->closed) << *agent->closed;
  v1::NodeDescription shown = Shown(a_);
  EXPECT_EQ(shown.labels().size(), 2U);
  EXPECT_EQ(shown.labels().at("rack"), "7");
  EXPECT_EQ(shown.labels().at("disk"), "own");
  EXPECT_EQ(shown.provider(), "rented");
  EXPECT_EQ(shown.price_per_hour(), 2.5);

  v1::UpdateNodeRequest request;
  request.set_node("a");
  (*request.mutable_labels())["rack"] = "8";
  request.set_price_per_hour(3);
  ASSERT_TRUE(coordinator->UpdateNode(request, kLocalAdmin).ok());
  AttachWith(a_, "KEY", "01");
  shown = Shown(a_);
  EXPECT_EQ(shown.labels().at("rack"), "8");
  EXPECT_EQ(shown.price_per_hour(), 3);
}

TEST_F(EnrolledNodeTest, AnotherInviteChangesWhatTheNodeHas) {
  v1::InviteScope scope;
  (*scope.mutable_labels())["rack"] = "7";
  Enrol(a_, scope);
  AttachWith(a_, "KEY", "01");
  (*scope.mutable_labels())["rack"] = "9";
  scope.set_provider("other");
  Enrol(a_, scope, "two");
  AttachWith(a_, "KEY", "01");
  EXPECT_EQ(Shown(a_).labels().at("rack"), "9");
  EXPECT_EQ(Shown(a_).provider(), "other");
}

TEST_F(EnrolledNodeTest, RenewedCertificateReplacesTheSession) {
  Enrol(a_, {});
  const auto before = AttachWith(a_, "KEY", "01");
  const auto after = AttachWith(a_, "KEY", "02");
  EXPECT_FALSE(after->closed);
  ASSERT_TRUE(before->closed);
  EXPECT_EQ(before->closed->reason(), Reason::kSessionReplaced);
  const auto stranger = AttachWith(a_, "OTHER", "03");
  ASSERT_TRUE(stranger->closed);
  EXPECT_EQ(stranger->closed->code(), Code::kPermissionDenied);
  EXPECT_FALSE(after->closed);
}

TEST_F(EnrolledNodeTest, RemovedNodeLosesItsIdentityAlthoughItIsConnected) {
  Enrol(a_, {});
  const auto agent = AttachWith(a_, "KEY", "01");
  const auto removed = coordinator->RemoveNode("a");
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_TRUE(agent->closed);
  EXPECT_EQ(agent->closed->reason(), Reason::kNodeRemoved);
  EXPECT_EQ(identities.GetIdentity("a").status().code(), Code::kNotFound);
}

TEST_F(EnrolledNodeTest, RemovedNodeStaysBanned) {
  Enrol(a_, {});
  AttachWith(a_, "KEY", "01");
  ASSERT_TRUE(identities.Ban("a", "", "ann", clock.WallNow()).ok());
  ASSERT_TRUE(coordinator->RemoveNode("a").ok());
  EXPECT_TRUE(identities.GetIdentity("a")->has_ban_time());
}

TEST_F(EnrolledNodeTest, NodeWithoutIdentityIsNotRemovedWhileItIsConnected) {
  Attach(a_);
  EXPECT_EQ(coordinator->RemoveNode("a").status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace assay::coordinator
