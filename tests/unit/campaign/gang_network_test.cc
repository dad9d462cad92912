// Which nodes can run a gang together, and how campaigns place gangs on them.
#include "campaign/gang_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign/expand.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kNat1[] = "10.0.0.5 behind 203.0.113.7";
constexpr char kNat2[] = "10.0.0.5 behind 198.51.100.9";

v1::Node NodeAt(const std::string& name, const std::string& address, bool given = false) {
  v1::Node node = MakeFleetNode(name, name.back(), 2);
  node.mutable_description()->set_advertise_address(address);
  node.mutable_description()->set_advertise_address_given(given);
  node.mutable_description()->set_boot_id("boot");
  return node;
}

bool Share(const v1::Node& a, const v1::Node& b) {
  return GangNetwork(a.description()) == GangNetwork(b.description());
}

std::vector<std::string> NamesOf(const storage::NewJob& job) {
  std::vector<std::string> names;
  for (const std::string& id : job.candidate_node_ids) names.push_back(id.substr(0, 1));
  return names;
}

TEST(AddressSeenFrom, OnlyAnotherAddressIsBehindIt) {
  EXPECT_EQ(AddressSeenFrom("10.0.0.5", "10.0.0.5"), "10.0.0.5");
  EXPECT_EQ(AddressSeenFrom("10.0.0.5", "203.0.113.7"), kNat1);
  EXPECT_EQ(AddressSeenFrom("10.0.0.5", ""), "10.0.0.5") << "unknown, as behind a proxy";
  EXPECT_EQ(AddressSeenFrom("10.0.0.5", "127.0.0.1"), "10.0.0.5") << "a tunnel";
  EXPECT_EQ(AddressSeenFrom("10.0.0.5", "2001:db8::7"), "10.0.0.5") << "another IP version";
  EXPECT_EQ(AddressSeenFrom("127.0.0.1", "203.0.113.7"), "127.0.0.1");
  EXPECT_EQ(AddressSeenFrom("", "203.0.113.7"), "");
}

TEST(GangNetwork, NodesBehindOnePublicAddressShareIt) {
  EXPECT_TRUE(Share(NodeAt("1", kNat1), NodeAt("2", "10.0.0.6 behind 203.0.113.7")));
  EXPECT_FALSE(Share(NodeAt("1", kNat1), NodeAt("2", kNat2)));
  EXPECT_FALSE(Share(NodeAt("1", kNat1), NodeAt("2", "203.0.113.8")));
  EXPECT_TRUE(Share(NodeAt("1", "10.1.0.5"), NodeAt("2", "203.0.113.8")));
}

TEST(GangNetwork, GivenAddressIsBelieved) {
  EXPECT_TRUE(Share(NodeAt("1", "100.64.0.1", true), NodeAt("2", "100.64.0.2", true)));
  EXPECT_TRUE(Share(NodeAt("1", "100.64.0.1", true), NodeAt("2", "10.1.0.5")));
  EXPECT_FALSE(Share(NodeAt("1", "100.64.0.1", true), NodeAt("2", kNat1)));
}

TEST(GangNetwork, LoopbackReachesOnlyTheSameHost) {
  v1::Node elsewhere = NodeAt("2", "127.0.0.1", true);
  EXPECT_TRUE(Share(NodeAt("1", "127.0.0.1"), elsewhere));
  elsewhere.mutable_description()->set_boot_id("another");
  EXPECT_FALSE(Share(NodeAt("1", "127.0.0.1"), elsewhere));
  EXPECT_FALSE(Share(NodeAt("1", "127.0.0.1"), NodeAt("3", "10.1.0.5")));
}

// A campaign over two nodes, by the network or by GPUs.
class GangOverTwo : public testing::TestWithParam<const char*> {
 protected:
  GangOverTwo() {
    if (spec_.benchmarks(0).benchmark() == "all_reduce") {
      AddAxis(*spec_.mutable_benchmarks(0), "nodes", {"2"});
    }
  }
  v1::CampaignSpec spec_ = MakeSpec(GetParam());
};

TEST_P(GangOverTwo, IsRefusedIfNoTwoNodesShareANetwork) {
  for (const v1::PlacementPolicy policy :
       {v1::PLACEMENT_POLICY_EACH, v1::PLACEMENT_POLICY_ANY, v1::PLACEMENT_POLICY_PAIRS}) {
    spec_.set_placement(policy);
    const Status refused = ExpandCampaign(spec_, {NodeAt("1", kNat1), NodeAt("2", kNat2)}).status();
    EXPECT_EQ(refused.reason(), Reason::kNoSharedNetwork);
    ASSERT_THAT(refused.violations(), SizeIs(1));
    EXPECT_WORDING("campaign/no-shared-network", refused.violations()[0].description);
    EXPECT_EQ(refused.violations()[0].line, 4);
  }
}

TEST_P(GangOverTwo, AnyTakesTheLargestNetwork) {
  spec_.set_placement(v1::PLACEMENT_POLICY_ANY);
  const auto expansion = ExpandCampaign(
      spec_, {NodeAt("1", kNat1), NodeAt("2", kNat2), NodeAt("3", kNat2), NodeAt("4", "10.1.0.5")});
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(1));
  EXPECT_THAT(NamesOf(expansion->jobs[0]), ElementsAre("2", "3"));
}

TEST_P(GangOverTwo, EachGroupsTheNodesOfANetwork) {
  spec_.set_placement(v1::PLACEMENT_POLICY_EACH);
  const auto expansion = ExpandCampaign(
      spec_, {NodeAt("1", kNat1), NodeAt("2", kNat2), NodeAt("3", kNat1), NodeAt("4", kNat2)});
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(2));
  EXPECT_THAT(NamesOf(expansion->jobs[0]), ElementsAre("1", "3"));
  EXPECT_THAT(NamesOf(expansion->jobs[1]), ElementsAre("2", "4"));
}

INSTANTIATE_TEST_SUITE_P(Benchmarks, GangOverTwo, testing::Values("tcp_all_reduce", "all_reduce"));

}  // namespace
}  // namespace assay::campaign
