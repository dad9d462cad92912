// Reads every campaign in examples/ with the CLI's parser and expands it as the coordinator does,
// for fleets whose nodes can run every benchmark that assay-runner declares.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "campaign/expand.h"
#include "campaign/matrix.h"
#include "cli/campaign_file/campaign_file.h"
#include "common/units.h"
#include "tests/contract/described_runner.h"

namespace assay {
namespace {

constexpr int kNodes = 4;
constexpr int kGpusOfANode = 8;

// Returns nodes that support every benchmark of `runner`.
std::vector<v1::Node> Fleet(const v1::RunnerDescription& runner, int count, int gpus) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < count; ++i) {
    v1::Node& node = nodes.emplace_back();
    node.set_state(v1::NODE_STATE_CONNECTED);
    v1::NodeDescription& description = *node.mutable_description();
    description.set_node_id("00000000-0000-4000-8000-00000000000" + std::to_string(i));
    description.set_name("node-" + std::to_string(i));
    for (int index = 0; index < gpus; ++index) {
      v1::GpuInventory* gpu = description.mutable_inventory()->add_gpus();
      gpu->set_index(index);
      gpu->set_model("H200");
      gpu->set_uuid("GPU-" + std::to_string(i) + std::to_string(index));
    }
    *description.mutable_benchmarks() = runner.benchmarks();
    for (v1::BenchmarkSchema& schema : *description.mutable_benchmarks()) {
      schema.clear_unsupported_reason();
    }
  }
  return nodes;
}

std::vector<std::filesystem::path> Examples() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE "/examples")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  EXPECT_GE(paths.size(), 20U);
  return paths;
}

TEST(ExamplesTest, FleetThatCanRunEverythingAcceptsThem) {
  const std::vector<v1::Node> fleet = Fleet(Described(), kNodes, kGpusOfANode);
  for (const std::filesystem::path& path : Examples()) {
    SCOPED_TRACE(path);
    const Result<cli::CampaignFile> file = cli::ReadCampaignFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->faults.empty());
    const auto expansion = campaign::ExpandCampaign(file->spec, fleet);
    EXPECT_TRUE(expansion.ok()) << expansion.status();
  }
}

// Campaigns with `unplaceable: skip` run on small fleets too, as examples/README.md says.
TEST(ExamplesTest, CampaignsThatSkipRunOnSmallFleetsAndLeaveNothingOutOnLargeOnes) {
  const v1::RunnerDescription runner = Described();
  int skipping = 0;
  for (const std::filesystem::path& path : Examples()) {
    const Result<cli::CampaignFile> file = cli::ReadCampaignFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    if (file->spec.unplaceable() != v1::UNPLACEABLE_SKIP) continue;
    ++skipping;
    for (const auto& [nodes, gpus] : {std::pair(1, 2), {1, 4}, {1, 8}, {2, 4}, {kNodes, 8}}) {
      SCOPED_TRACE(path.filename().string() + " on " + std::to_string(nodes) + " nodes of " +
                   std::to_string(gpus) + " GPUs");
      const auto expansion = campaign::ExpandCampaign(file->spec, Fleet(runner, nodes, gpus));
      ASSERT_TRUE(expansion.ok()) << expansion.status();
      if (nodes == kNodes) EXPECT_TRUE(expansion->left_out.empty());
    }
  }
  EXPECT_GE(skipping, 4);
}

TEST(ExamplesTest, ReadmeListsEveryExample) {
  std::ifstream file(ASSAY_SOURCE "/examples/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  for (const std::filesystem::path& path : Examples()) {
    const std::string link = "](" + path.filename().string() + ")";
    EXPECT_NE(readme.find(link), std::string::npos) << link;
  }
}

// A reader of `to: 2GB` expects a largest case of 2 GB.
TEST(ExamplesTest, RangesReachTheirEnds) {
  for (const std::filesystem::path& path : Examples()) {
    const Result<cli::CampaignFile> file = cli::ReadCampaignFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    for (const v1::BenchmarkMatrix& matrix : file->spec.benchmarks()) {
      for (const v1::ParameterAxis& axis : matrix.axes()) {
        if (!axis.has_range()) continue;
        SCOPED_TRACE(path.filename().string() + ": " + axis.name());
        const Result<int64_t> to = ParseBytes(axis.range().to());
        ASSERT_TRUE(to.ok()) << to.status();
        const ParameterSpec spec = {axis.name(), ParameterType::kBytes, "", {}, 0, INT64_MAX, {}};
        const auto range = campaign::NumberRange::Parse(axis.range(), spec);
        ASSERT_TRUE(range.ok()) << range.status();
        EXPECT_EQ(range->Values().back(), std::to_string(*to));
      }
    }
  }
}

}  // namespace
}  // namespace assay
