// What to look at does not contradict what else is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/views/pairs_view.h"

namespace assay::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFine[] = "Both are fine with the others";

// Of nodes a to e; nothing is named.
PairCase Fleet(const std::string& benchmark) {
  PairCase measured;
  measured.benchmark = benchmark;
  measured.nodes = {"a", "b", "c", "d", "e"};
  return measured;
}

std::string AdviceOn(const std::vector<PairCase>& cases, const std::string& name) {
  for (const PairSuspect& suspect : PairSuspects(cases)) {
    if (suspect.name == name) return suspect.advice;
  }
  return "not named";
}

TEST(PairSuspectsTest, EndsOfALinkAreFineOnlyWhereNothingElseIsNamedWithThem) {
  PairCase measured = Fleet("tcp_latency");
  measured.analysis.links = {{0, 1, false, 0.9}};
  EXPECT_THAT(AdviceOn({measured}, "link a-b"), EndsWith(kFine));
  // Elsewhere in the fleet.
  measured.analysis.nodes = {{4, NodeSide::kBoth, 0.5, 4, 4}};
  measured.analysis.doubtful_links = {{2, 3, false, 0.2}};
  EXPECT_THAT(AdviceOn({measured}, "link a-b"), EndsWith(kFine));

  measured.analysis.nodes = {{1, NodeSide::kBoth, 0.5, 4, 4}};
  EXPECT_THAT(AdviceOn({measured}, "node b"), HasSubstr("It is bad with the others"));
  EXPECT_THAT(AdviceOn({measured}, "link a-b"),
              EndsWith("or a path between their switches. Look first at node b, named too"));
  measured.analysis.nodes.push_back({0, NodeSide::kSending, 0.5, 4, 4});
  EXPECT_THAT(AdviceOn({measured}, "link a-b"),
              EndsWith(". Look first at node a and node b, named too"));
  measured.analysis.nodes.clear();
  measured.dead = {{0, 3, 3}};
  EXPECT_THAT(AdviceOn({measured}, "link a-b"), EndsWith(". Look first at node a, named too"));
}

TEST(PairSuspectsTest, EndsThatArePerhapsBadOrHaveAnotherBadLinkAreNotCalledFine) {
  PairCase measured = Fleet("tcp_latency");
  measured.analysis.links = {{0, 1, false, 0.9}};
  PairCase perhaps = measured;
  perhaps.analysis.doubtful_nodes = {{1, NodeSide::kBoth, 0.2, 4, 4}};
  EXPECT_THAT(AdviceOn({perhaps}, "link a-b"), EndsWith("between their switches"));
  PairCase another = measured;
  another.analysis.links.push_back({1, 2, false, 0.8});
  EXPECT_THAT(AdviceOn({another}, "link a-b"), EndsWith("between their switches"));
  EXPECT_THAT(AdviceOn({another}, "link b-c"), EndsWith("between their switches"));
  PairCase failed = measured;
  failed.failures = {{1, 2, false, PairFailureKind::kFailed, "PEER_LOST"}};
  EXPECT_THAT(AdviceOn({failed}, "link a-b"), Not(HasSubstr(kFine)));
  // What cannot run is no fault.
  failed.failures[0].kind = PairFailureKind::kUnsupported;
  EXPECT_THAT(AdviceOn({failed}, "link a-b"), EndsWith(kFine));
}

TEST(PairSuspectsTest, AnAgentThatIsGoneTellsNothingOfTheLink) {
  PairCase measured = Fleet("tcp_latency");
  const auto failed = [&](const std::string& reason) {
    measured.failures = {{0, 1, false, PairFailureKind::kFailed, reason}};
    return AdviceOn({measured}, "link a-b");
  };
  for (const char* of_an_end :
       {"AGENT_LOST: the agent of node b is gone", "GANG_NOT_READY", "RUNNER_SPAWN_FAILED: no file",
        "VERSION_MISMATCH", "RUNNER_CRASHED: rank 1 on node b: killed by signal 9",
        "GPU_UNUSABLE: Xid 79"}) {
    EXPECT_THAT(failed(of_an_end), EndsWith("which tells nothing of what lies between the two"));
  }
  EXPECT_THAT(failed("PEER_TIMEOUT: nodes a and b do not reach each other"),
              EndsWith("then what lies between these two alone"));
}

TEST(PairSuspectsTest, AnotherCaseMayNameTheNode) {
  PairCase latency = Fleet("tcp_latency");
  latency.analysis.links = {{0, 1, true, 0.9}};
  PairCase bandwidth = Fleet("tcp_bandwidth");
  bandwidth.analysis.nodes = {{1, NodeSide::kBoth, 0.5, 4, 4}};
  EXPECT_THAT(AdviceOn({latency, bandwidth}, "link a-b"),
              EndsWith(". Look first at node b, named too"));
  EXPECT_THAT(AdviceOn({bandwidth, latency}, "link a-b"),
              EndsWith(". Look first at node b, named too"));
}

}  // namespace
}  // namespace assay::cli
