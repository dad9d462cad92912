#include "cli/views/filter_guess.h"

#include <gmock/gmock.h>

#include <string>

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Node NodeCalled(const std::string& name, v1::NodeState state) {
  v1::Node node;
  node.mutable_description()->set_name(name);
  node.set_state(state);
  node.mutable_last_heartbeat_time()->set_seconds(1'767'225'600);
  return node;
}

std::vector<std::string> Unknown(const std::string& filter) {
  const Result<Filter> parsed = ParseFilter(filter);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return UnknownNodes(*parsed, {NodeCalled("rack-1", v1::NODE_STATE_CONNECTED),
                                NodeCalled("rack-2", v1::NODE_STATE_CONNECTED),
                                NodeCalled("rack-3", v1::NODE_STATE_DISCONNECTED)});
}

TEST(UnknownNodes, UnknownNames_AreListed) {
  EXPECT_THAT(Unknown("name = rack-1 OR name = rack-22 OR name = \"zebra\" OR name = rack-22"),
              ElementsAre("no node is called \"rack-22\"; did you mean \"rack-2\"?",
                          "no node is called \"zebra\""));
  EXPECT_THAT(Unknown("gpu.count >= 1 AND (name = rack-1 OR name = rack-3)"), IsEmpty());
}

TEST(UnknownNodes, OtherConditions_AreIgnored) {
  EXPECT_THAT(Unknown("name = rack-1 OR name = rack-2"), IsEmpty());
  EXPECT_THAT(Unknown("NOT name = rack-9 AND name != rack-8 AND name : rack"), IsEmpty());
  EXPECT_THAT(Unknown("name = shelf* OR hostname = rack-9"), IsEmpty());
  EXPECT_THAT(Unknown(""), IsEmpty());
}

}  // namespace
}  // namespace assay::cli
