// assay node cordon, uncordon, drain, label and price.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "common/subprocess.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

class NodeOperationsTest : public ::testing::Test {
 protected:
  NodeOperationsTest() {
    v1::Node& node = fake.nodes.emplace_back();
    node.mutable_description()->set_node_id("id-a");
    node.mutable_description()->set_name("g31");
    node.set_state(v1::NODE_STATE_CONNECTED);
  }
  v1::Node& node() { return fake.nodes[0]; }
  // Returns the node while it is drained and runs these jobs.
  v1::Node Draining(const std::vector<std::string>& jobs) {
    v1::Node drained = node();
    drained.mutable_cordon()->mutable_drain_deadline()->set_seconds(1'767'225'600);
    drained.mutable_job_ids()->Assign(jobs.begin(), jobs.end());
    return drained;
  }
  ProgramRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "node");
    return RunAssay(arguments, fake.address());
  }

  FakeCoordinator fake;
};

TEST_F(NodeOperationsTest, Cordon_SendsTheReason) {
  node().add_job_ids("job-1");
  fake.Start();
  const ProgramRun run = Run({"cordon", "g31", "--reason", "new PSU"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.last_cordon().node(), "g31");
  EXPECT_EQ(fake.last_cordon().reason(), "new PSU");
  EXPECT_WORDING("cli/node-cordon", run.out);
  EXPECT_EQ(Run({"cordon", "none"}).exit_code, 4);
}

TEST_F(NodeOperationsTest, Uncordon_SaysWhatElseKeepsJobsOff) {
  fake.Start();
  std::string said = Run({"uncordon", "g31"}).out;
  fake.Stop();
  node().set_state(v1::NODE_STATE_DISCONNECTED);
  fake.Start();
  said += Run({"uncordon", "g31"}).out;
  fake.Stop();
  node().set_quarantine("failed 5 jobs in a row");
  fake.Start();
  said += Run({"uncordon", "g31"}).out;
  EXPECT_WORDING("cli/node-uncordon", said);
}

TEST_F(NodeOperationsTest, Drain_WaitsUntilTheNodeIsEmpty) {
  fake.node_states = {Draining({"job-1"}), Draining({})};
  node() = Draining({"job-1", "job-2"});
  fake.Start();
  const ProgramRun run = Run({"drain", "g31", "--deadline", "1h30m", "--reason", "new PSU"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.last_drain().node(), "g31");
  EXPECT_EQ(fake.last_drain().reason(), "new PSU");
  EXPECT_EQ(fake.last_drain().deadline().seconds(), 5400);
  EXPECT_WORDING("cli/node-drain", run.out);
  EXPECT_WORDING("cli/node-drain-progress", run.err);
}

TEST_F(NodeOperationsTest, Drain_WithoutADeadlineSendsNone) {
  node() = Draining({});
  fake.Start();
  EXPECT_EQ(Run({"drain", "g31"}).exit_code, 0);
  EXPECT_FALSE(fake.last_drain().has_deadline());
  EXPECT_EQ(Run({"drain", "none"}).exit_code, 4);
  EXPECT_EQ(Run({"drain", "g31", "--deadline", "soon"}).exit_code, 2);
  EXPECT_EQ(Run({"drain", "g31", "--deadline", "-1m"}).exit_code, 2);
}

TEST_F(NodeOperationsTest, Drain_FailsIfSomeoneEndsIt) {
  fake.node_states = {node()};
  node() = Draining({"job-1"});
  fake.Start();
  const ProgramRun run = Run({"drain", "g31"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("no longer cordoned"), std::string::npos) << run.err;
}

TEST_F(NodeOperationsTest, Drain_InterruptLeavesItGoing) {
  node() = Draining({"job-1"});
  fake.Start();
  Result<Pipe> pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  SubprocessOptions options;
  options.argv = {ASSAY_PROGRAM, "node", "drain", "g31", "--coordinator", fake.address()};
  options.descriptors = {{2, pipe->write.get()}};
  Result<Subprocess> program = Subprocess::Spawn(options);
  ASSERT_TRUE(program.ok()) << program.status();
  pipe->write.Close();
  std::string text;
  char buffer[256];
  bool signalled = false;
  for (ssize_t got = 0; (got = read(pipe->read.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
    if (!signalled && text.find('\n') != std::string::npos) {
      program->Signal(SIGINT);
      signalled = true;
    }
  }
  const std::optional<ExitStatus> exit = program->Wait(std::chrono::seconds(20));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 130) << exit->ToString();
  EXPECT_WORDING("cli/node-drain-interrupted", text);
}

TEST_F(NodeOperationsTest, Label_SetsAndRemoves) {
  (*node().mutable_description()->mutable_labels())["rack"] = "7";
  (*node().mutable_description()->mutable_labels())["Row"] = "a=b";
  fake.Start();
  const ProgramRun run = Run({"label", "g31", "rack=7", "Row=a=b", "zone-", "empty="});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const v1::UpdateNodeRequest request = fake.last_update();
  EXPECT_EQ(request.node(), "g31");
  EXPECT_EQ(request.labels().at("Row"), "a=b");
  EXPECT_EQ(request.labels().at("empty"), "");
  ASSERT_EQ(request.removed_labels_size(), 1);
  EXPECT_EQ(request.removed_labels(0), "zone");
  EXPECT_FALSE(request.has_price_per_hour());
  EXPECT_WORDING("cli/node-label", run.out);
  std::string errors;
  for (const std::vector<std::string>& changes : std::vector<std::vector<std::string>>{
           {"rack"}, {"-"}, {"rack=7", "rack=8"}, {"rack=7", "rack-"}, {}}) {
    std::vector<std::string> arguments = {"label", "g31"};
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    const ProgramRun wrong = Run(arguments);
    EXPECT_EQ(wrong.exit_code, 2) << wrong.err;
    errors += wrong.err;
  }
  EXPECT_WORDING("cli/node-label-wrong", errors);
}

TEST_F(NodeOperationsTest, Price_IsSent) {
  node().mutable_description()->set_price_per_hour(2.49);
  fake.Start();
  const ProgramRun run = Run({"price", "g31", "2.49"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(fake.last_update().price_per_hour(), 2.49);
  EXPECT_TRUE(fake.last_update().labels().empty());
  EXPECT_WORDING("cli/node-price", run.out);
  for (const char* price : {"-1", "nan", "inf", "1e7", "cheap"}) {
    EXPECT_EQ(Run({"price", "g31", price}).exit_code, 2) << price;
  }
}

}  // namespace
}  // namespace assay::cli
