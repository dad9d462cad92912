// assay deploy with a program in the place of ssh, and its list of hosts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/deploy/deploy_view.h"
#include "cli/deploy/host_file.h"
#include "common/file.h"
#include "common/text.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(HostFileTest, LinesGiveHostsAndInvites) {
  const auto hosts = ParseHostFile(
      "# rack 3\n\nroot@10.0.0.7:2222\tname=gpu-7 label=rack=3 label=row=a=b price=2.49 # new\r\n"
      "gpu-8.example.com\n[2001:db8::1]:22 name=six\n2001:db8::2 name=seven\n",
      "hosts");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->size(), 4U);
  const DeployHost& first = hosts->at(0);
  EXPECT_EQ(first.line, 3);
  EXPECT_EQ(first.ToString(), "root@10.0.0.7:2222");
  EXPECT_EQ(first.scope.name(), "gpu-7");
  EXPECT_EQ(first.scope.role(), "node");
  EXPECT_EQ(first.scope.labels().at("row"), "a=b");
  EXPECT_EQ(first.scope.price_per_hour(), 2.49);
  EXPECT_EQ(hosts->at(1).scope.name(), "gpu-8.example.com");
  EXPECT_EQ(hosts->at(1).port, 0);
  EXPECT_EQ(hosts->at(2).ToString(), "[2001:db8::1]:22");
  EXPECT_EQ(hosts->at(3).host, "2001:db8::2");
  EXPECT_EQ(Join(first.SshCommand(), " "),
            "ssh -T -o BatchMode=yes -o ConnectTimeout=15 -o ControlMaster=no -p 2222 -l root -- "
            "10.0.0.7 sh -s");
}

TEST(HostFileTest, MistakesAreNamedWithTheirLines) {
  const auto hosts = ParseHostFile(
      "-oProxyCommand=x\nroot@-oProxyCommand=x\n-l@host\na b\na:0\na:b\na:99999\na name=\n"
      "a price=much\na price=-1\na label=x\na label=x=1 label=x=2\na label=!=1\na\nb name=a\n"
      "$(reboot)\na;b\n\x1b[2J\na name=\xff\n",
      "hosts");
  ASSERT_EQ(hosts.status().reason(), Reason::kBadFile);
  std::string errors;
  for (const Violation& one : hosts.status().violations()) {
    errors += one.field + ": " + one.description + "\n";
  }
  EXPECT_WORDING("cli/host-file-errors", errors);
  EXPECT_EQ(ParseHostFile("# none\n", "hosts").status().reason(), Reason::kBadFile);
}

TEST(DeployViewTest, ResultsFitNarrowAndWideTerminals) {
  const std::vector<DeployResult> results = {
      {"root@10.0.0.7:2222", "gpu-7", DeployResult::Outcome::kJoined, 12.34, ""},
      {"10.0.0.8", "gpu-8", DeployResult::Outcome::kSkipped, 0, "node gpu-8 is connected"},
      {"root@gpu-9.example.com", "gpu-9.example.com", DeployResult::Outcome::kFailed, 0.5,
       "root@gpu-9.example.com: Permission denied (publickey,password).\x1b[2J"}};
  EXPECT_WORDING("cli/deploy-80", DeployText(results, {80, false}));
  EXPECT_WORDING("cli/deploy-200", DeployText(results, {200, false}));
  EXPECT_WORDING("cli/deploy-csv", DeployCsv(results));
  EXPECT_WORDING("cli/deploy-json", DeployJson(results));
}

// Runs the script here, or fails as ssh does for hosts that begin with "bad".
constexpr char kSsh[] = R"(#!/bin/bash
echo "$*" >> "${0%/*}/ssh-calls"
case "$*" in *bad*) echo 'root@bad: Permission denied (publickey).' >&2; exit 255;; esac
exec sh -s
)";

class DeployTest : public testing::Test {
 protected:
  DeployTest() {
    std::ofstream(folder_.path() + "/ssh") << kSsh;
    std::filesystem::permissions(folder_.path() + "/ssh", std::filesystem::perms::owner_all);
    AddNode("gpu-7", v1::NODE_STATE_DISCONNECTED);
    AddNode("gpu-8", v1::NODE_STATE_CONNECTED);
    // The state after the line has run.
    v1::Node joined = fake_.nodes[0];
    joined.set_state(v1::NODE_STATE_CONNECTED);
    fake_.node_states = {joined};
    fake_.invite_command = "echo joining | cat && touch " + folder_.path() + "/joined; : TOKEN";
  }

  void AddNode(const std::string& name, v1::NodeState state) {
    v1::Node& node = fake_.nodes.emplace_back();
    node.mutable_description()->set_node_id(name);
    node.mutable_description()->set_name(name);
    node.set_state(state);
  }

  ProgramRun Run(const std::string& hosts, const std::vector<std::string>& more = {}) {
    std::ofstream(folder_.path() + "/hosts") << hosts;
    if (fake_.port() == 0) fake_.Start();
    std::vector<std::string> arguments = {"deploy", "--hosts", folder_.path() + "/hosts"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunAssay(arguments, fake_.address(), {"PATH=" + folder_.path() + ":/usr/bin:/bin"});
  }

  bool Exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path() + "/" + name);
  }

  FakeCoordinator fake_;
  TemporaryFolder folder_;
};

TEST_F(DeployTest, MissingHostsJoinAndConnectedOnesAreSkipped) {
  const ProgramRun run = Run("root@a:22 name=gpu-7 label=rack=3\nb name=gpu-8\n", {"-o", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  const auto results = nlohmann::json::parse(run.out);
  EXPECT_EQ(results[0]["result"], "joined");
  EXPECT_EQ(results[1]["result"], "skipped");
  EXPECT_TRUE(Exists("joined"));
  EXPECT_EQ(fake_.create_calls(), 1);
  EXPECT_EQ(fake_.last_invite().scope().name(), "gpu-7");
  EXPECT_EQ(fake_.last_invite().scope().labels().at("rack"), "3");
  EXPECT_EQ(fake_.revoked(), std::vector<std::string>());
  // Other users of this machine can read the arguments of programs.
  EXPECT_EQ(ReadFile(folder_.path() + "/ssh-calls")->find("TOKEN"), std::string::npos);
}

TEST_F(DeployTest, HostThatFails_LastLineIsShownAndItsInviteRevoked) {
  const ProgramRun run = Run("bad name=gpu-9\na name=gpu-7\n", {"-o", "json", "--parallel", "1"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const auto results = nlohmann::json::parse(run.out);
  EXPECT_EQ(results[0]["result"], "failed");
  EXPECT_EQ(results[0]["message"], "root@bad: Permission denied (publickey).");
  EXPECT_EQ(results[1]["result"], "joined");
  EXPECT_EQ(fake_.revoked(), std::vector<std::string>{"invite-1"});
}

TEST_F(DeployTest, LineThatFailsOnTheHost_IsReported) {
  fake_.invite_command = "echo a; echo 'cannot join' >&2; echo 'hint: ask' >&2; false";
  const ProgramRun run = Run("a name=gpu-7\n", {"-o", "json"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)[0]["message"], "cannot join; hint: ask");
}

TEST_F(DeployTest, DryRun_MakesNoInviteAndNoConnection) {
  const ProgramRun run =
      Run("root@a:22 name=gpu-7 label=rack=3 price=2\nb name=gpu-8\n", {"--dry-run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake_.create_calls(), 0);
  EXPECT_FALSE(Exists("ssh-calls"));
  EXPECT_WORDING("cli/deploy-dry-run", run.out);
}

TEST_F(DeployTest, MissingSsh_IsNamed) {
  std::filesystem::remove(folder_.path() + "/ssh");
  std::ofstream(folder_.path() + "/hosts") << "a name=gpu-7\n";
  fake_.Start();
  const ProgramRun run = RunAssay({"deploy", "--hosts", folder_.path() + "/hosts", "-o", "json"},
                                  fake_.address(), {"PATH=" + folder_.path()});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_NE(run.out.find("ssh"), std::string::npos);
}

TEST_F(DeployTest, WrongFile_ExitsWith2) {
  EXPECT_EQ(Run("a b\n").exit_code, 2);
  EXPECT_EQ(fake_.create_calls(), 0);
}

}  // namespace
}  // namespace assay::cli
