
#include "host/numa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/benchmark.h"
#include "kernels/cuda/links/link_parameters.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A /sys of two sockets with two nodes each, and of a node of memory alone.
class NumaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("devices/system/node/has_memory", "0-3,8");
    AddNode(0, "0-1,8-9", "10 12 32 32 80");
    AddNode(1, "2-3,10-11", "12 10 32 32 80");
    AddNode(2, "4-5", "32 32 10 12 80");
    AddNode(3, "6-7", "32 32 12 10 80");
    AddNode(8, "", "80 80 80 80 10");
  }

  void Write(const std::string& path, const std::string& line) {
    const std::filesystem::path full = sys() + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << line << "\n";
  }

  void AddNode(int node, const std::string& cpus, const std::string& distances) {
    const std::string folder = "devices/system/node/node" + std::to_string(node) + "/";
    Write(folder + "cpulist", cpus);
    Write(folder + "distance", distances);
  }

  const std::string& sys() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(NumaTest, ReadsNodesWithMemory) {
  const NumaTopology topology = ReadNumaTopology(sys());
  ASSERT_EQ(topology.distances.size(), 5U);
  EXPECT_THAT(topology.distances.at(1), ElementsAre(12, 10, 32, 32, 80));
  EXPECT_THAT(topology.cpus.at(0), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(topology.cpus.at(8), IsEmpty());
}

TEST_F(NumaTest, ChoosesTheNodeOfTheParameter) {
  const NumaTopology topology = ReadNumaTopology(sys());
  EXPECT_EQ(*ChooseNumaNode("local", 2, topology), 2);
  EXPECT_EQ(*ChooseNumaNode("any", 2, topology), std::nullopt);
  EXPECT_EQ(*ChooseNumaNode("remote", 2, topology), 8);
  EXPECT_EQ(*ChooseNumaNode("local", std::nullopt, topology), std::nullopt);
  const auto unknown = ChooseNumaNode("remote", std::nullopt, topology);
  EXPECT_TRUE(IsUnsupported(unknown.status()));
  EXPECT_WORDING("kernels/numa-unknown", unknown.status().message());
}

TEST_F(NumaTest, OneNodeHasNoRemoteMemory) {
  Write("devices/system/node/has_memory", "0");
  const auto chosen = ChooseNumaNode("remote", 0, ReadNumaTopology(sys()));
  EXPECT_TRUE(IsUnsupported(chosen.status()));
  EXPECT_WORDING("kernels/numa-single", chosen.status().message());
  EXPECT_THAT(ReadNumaTopology(sys() + "/nothing").distances, IsEmpty());
}

TEST_F(NumaTest, ParsesListsOfCpus) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("1,x"), ElementsAre(1));
}

// On the machine of the test, whatever it is.
TEST(NumaHereTest, BindsDuringItsLifetime) {
  const NumaTopology topology = ReadNumaTopology();
  if (topology.distances.empty()) GTEST_SKIP() << "this kernel shows no NUMA nodes";
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int node = topology.distances.begin()->first;
  {
    const OnNumaNode on_node(node, topology);
    if (!on_node.bound()) GTEST_SKIP() << "this system lets nobody choose a node";
    std::vector<char> touched(1 << 20, 'x');
    const auto found = NumaNodeOfPage(touched.data() + touched.size() / 2);
    if (found) {
      EXPECT_EQ(*found, node);
    }
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_NE(CPU_EQUAL(&before, &after), 0);
}

}  // namespace
}  // namespace assay
