// assay node invite, invites, revoke, ban and their like, and assay user.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

class InviteTest : public ::testing::Test {
 protected:
  InviteTest() {
    for (const char* name : {"ann", "gpu-7"}) {
      v1::EnrolledIdentity& one = fake.identities.emplace_back();
      one.set_name(name);
      one.set_role(std::string(name) == "ann" ? "admin" : "node");
    }
  }
  ProgramRun Run(const std::vector<std::string>& arguments) {
    if (fake.port() == 0) fake.Start();
    return RunAssay(arguments, fake.address());
  }

  FakeCoordinator fake;
};

TEST_F(InviteTest, NodeInvite_SendsItsScopeAndPrintsTheLine) {
  const ProgramRun run = Run({"node", "invite", "--name", "gpu-7", "--label", "rack=3", "--label",
                              "row=a=b", "--provider", "vast", "--price", "2.5", "--ephemeral",
                              "--ttl", "1h", "--expires", "2099-01-01"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, fake.invite_command + "\n");
  EXPECT_WORDING("cli/node-invite", run.err);
  const v1::CreateInviteRequest request = fake.last_invite();
  EXPECT_EQ(request.scope().role(), "node");
  EXPECT_EQ(request.scope().name(), "gpu-7");
  EXPECT_EQ(request.scope().labels().at("row"), "a=b");
  EXPECT_EQ(request.scope().provider(), "vast");
  EXPECT_EQ(request.scope().price_per_hour(), 2.5);
  EXPECT_TRUE(request.scope().ephemeral());
  EXPECT_EQ(schema::TimeText(request.scope().identity_expire_time()), "2099-01-01T00:00:00Z");
  EXPECT_EQ(request.lifetime().seconds(), 3600);
}

TEST_F(InviteTest, NodeInvite_WithoutOptionsSendsNone) {
  EXPECT_EQ(Run({"node", "invite"}).exit_code, 0);
  const v1::CreateInviteRequest request = fake.last_invite();
  EXPECT_FALSE(request.has_lifetime());
  EXPECT_FALSE(request.scope().has_price_per_hour());
  EXPECT_FALSE(request.scope().has_identity_expire_time());
  EXPECT_EQ(request.scope().name(), "");
}

TEST_F(InviteTest, UserInvite_NeedsARole) {
  const ProgramRun run = Run({"user", "invite", "bob", "--role", "viewer"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.last_invite().scope().role(), "viewer");
  EXPECT_EQ(fake.last_invite().scope().name(), "bob");
  EXPECT_WORDING("cli/user-invite", run.err);
  EXPECT_EQ(Run({"user", "invite", "bob"}).exit_code, 2);
  EXPECT_EQ(Run({"user", "invite", "bob", "--role", "node"}).exit_code, 2);
  EXPECT_EQ(Run({"user", "invite", "--role", "viewer"}).exit_code, 2);
}

TEST_F(InviteTest, WrongOptions_AreNamed) {
  std::string errors;
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--label", "rack"},
                                             {"--label", "a=1", "--label", "a=2"},
                                             {"--ttl", "soon"},
                                             {"--expires", "soon"},
                                             {"--price", "-1"},
                                             {"--name", ""}}) {
    std::vector<std::string> arguments = {"node", "invite"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    errors += run.err;
  }
  EXPECT_WORDING("cli/invite-wrong", errors);
}

TEST_F(InviteTest, RefusedScope_IsExplainedByOptions) {
  fake.identity_error = InvalidArgument("the invite has 2 errors")
                            .WithViolations({{"scope.labels", "more than 64 labels", 0},
                                             {"lifetime", "1 minute to 7 days", 0}});
  const ProgramRun run = Run({"node", "invite"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_WORDING("cli/invite-refused", run.err);
}

TEST_F(InviteTest, CoordinatorWithoutAuthority_EveryCommandSaysTheCure) {
  fake.identity_error =
      FailedPrecondition("the coordinator has no authority", Reason::kNoAuthority);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"node", "invite"},
                                             {"node", "invites"},
                                             {"node", "revoke", "x"},
                                             {"node", "ban", "x"},
                                             {"node", "unban", "x"},
                                             {"node", "identities"},
                                             {"node", "attempts"},
                                             {"user", "list"},
                                             {"user", "remove", "x"},
                                             {"user", "ban", "x"}}) {
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 4) << run.err;
    EXPECT_WORDING("cli/no-authority", run.err);
  }
}

TEST_F(InviteTest, BanAndUnban_SayHowToEndIt) {
  const ProgramRun node = Run({"node", "ban", "gpu-7", "--reason", "copied results"});
  EXPECT_EQ(node.exit_code, 0) << node.err;
  EXPECT_EQ(fake.last_ban().identity(), "gpu-7");
  EXPECT_EQ(fake.last_ban().reason(), "copied results");
  const ProgramRun user = Run({"user", "ban", "ann"});
  EXPECT_WORDING("cli/ban", node.out + user.out + Run({"node", "unban", "gpu-7"}).out +
                                Run({"user", "unban", "ann"}).out);
  EXPECT_EQ(Run({"node", "ban", "none"}).exit_code, 4);
}

TEST_F(InviteTest, Lists_HaveTheirForms) {
  std::string nothing;
  for (const char* list : {"invites", "attempts"}) nothing += Run({"node", list}).err;
  EXPECT_WORDING("cli/no-invites", nothing);
  for (const std::vector<std::string>& list : std::vector<std::vector<std::string>>{
           {"node", "invites"}, {"node", "attempts"}, {"node", "identities"}, {"user", "list"}}) {
    for (const char* form : {"json", "csv", "table"}) {
      const ProgramRun run = Run({list[0], list[1], "-o", form});
      EXPECT_EQ(run.exit_code, 0) << run.err;
    }
  }
  EXPECT_EQ(Run({"user", "list"}).out.find("gpu-7"), std::string::npos);
  EXPECT_EQ(Run({"node", "identities"}).out.find("ann"), std::string::npos);
}

TEST_F(InviteTest, Revoke_NamesTheInvite) {
  EXPECT_EQ(Run({"node", "revoke", "7hq2kd9w3mzx5c8r"}).exit_code, 0);
  EXPECT_EQ(fake.revoked(), std::vector<std::string>{"7hq2kd9w3mzx5c8r"});
}

TEST_F(InviteTest, Remove_NodeThatNeverAttachedHasAnIdentityAlone) {
  EXPECT_EQ(Run({"node", "remove", "gpu-7"}).exit_code, 0);
  EXPECT_EQ(fake.removed(), std::vector<std::string>{"identity gpu-7"});
}

TEST_F(InviteTest, Remove_NodeRefusesUsers) {
  EXPECT_EQ(Run({"node", "remove", "ann"}).exit_code, 4);
  EXPECT_EQ(fake.removed(), std::vector<std::string>());
}

TEST_F(InviteTest, UserRemove_RefusesNodes) {
  EXPECT_EQ(Run({"user", "remove", "gpu-7"}).exit_code, 2);
  EXPECT_EQ(fake.removed(), std::vector<std::string>());
  EXPECT_EQ(Run({"user", "remove", "ann"}).exit_code, 0);
  EXPECT_EQ(fake.removed(), std::vector<std::string>{"identity ann"});
}

}  // namespace
}  // namespace assay::cli
