#include "host/gpu_model.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// GPUs 0 to 2 with an NVLink between each pair except 1 and 2, which share a PCIe switch.
const std::vector<NvmlLink> kLinks = {{0, 1, "NV18", ""}, {0, 2, "NV18", ""}, {1, 2, "PIX", ""}};

TEST(TopologyClass, IsNvlinkOnlyIfEveryPairHasOne) {
  EXPECT_EQ(TopologyClass({0, 1}, kLinks), "nvlink");
  EXPECT_EQ(TopologyClass({0, 2}, kLinks), "nvlink");
  EXPECT_EQ(TopologyClass({1, 2}, kLinks), "pcie");
  EXPECT_EQ(TopologyClass({0, 1, 2}, kLinks), "pcie");
}

TEST(TopologyClass, UnknownLinksAreNoNvlinks) { EXPECT_EQ(TopologyClass({0, 1}, {}), "pcie"); }

TEST(TopologyClass, FewerThanTwoGpusNeedNoLinks) {
  EXPECT_EQ(TopologyClass({}, kLinks), "none");
  EXPECT_EQ(TopologyClass({2}, kLinks), "single");
}

}  // namespace
}  // namespace assay
