// Every campaign in examples/ is one that a fleet able to run everything would accept: read
// by the CLI's parser and expanded by the coordinator against what assay-runner declares.
//
// A runner without CUDA or NCCL does not declare their benchmarks. Of those the names and
// element types are checked here, and everything where such a runner is built; the
// environment variable ASSAY_EXAMPLES_RUNNER names another runner than the build's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "cli/campaign_file/campaign_file.h"
#include "common/units.h"
#include "coordinator/core/campaign/expand.h"
#include "coordinator/core/campaign/value_range.h"
#include "tests/contract/described_runner.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr int kNodes = 4;
constexpr int kGpusOfANode = 8;

// What benchmarks of GPUs call element types, all of them taken together.
const std::set<std::string>& ElementTypes() {
  static const std::set<std::string> words = {"fp64",     "fp32",     "tf32",  "bf16",  "fp16",
                                              "fp8_e4m3", "fp8_e5m2", "int8",  "uint8", "int32",
                                              "uint32",   "int64",    "uint64"};
  return words;
}

// Nodes that can run whatever `runner` declares.
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

std::string ReadDocument(const std::string& path) {
  std::ifstream file(ASSAY_SOURCE "/" + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Catalogue() { return ReadDocument("docs/reference/benchmarks.md"); }

void CheckUndeclared(const v1::BenchmarkMatrix& matrix, const std::string& catalogue) {
  EXPECT_THAT(catalogue, HasSubstr("`" + matrix.benchmark() + "`"));
  for (const v1::ParameterAxis& axis : matrix.axes()) {
    if (axis.name() != "dtype") continue;
    for (const std::string& word : axis.list().values()) {
      EXPECT_TRUE(ElementTypes().count(word) > 0) << matrix.benchmark() << ": dtype " << word;
    }
  }
}

// The benchmarks of `spec` that the runner declares, with the rules about them. Checks of
// the others what can be without their schemas.
v1::CampaignSpec Declared(const v1::CampaignSpec& spec, const std::set<std::string>& names) {
  static const std::string catalogue = Catalogue();
  v1::CampaignSpec declared = spec;
  declared.clear_benchmarks();
  declared.clear_accept();
  for (const v1::BenchmarkMatrix& matrix : spec.benchmarks()) {
    if (names.count(matrix.benchmark()) > 0) {
      *declared.add_benchmarks() = matrix;
    } else {
      CheckUndeclared(matrix, catalogue);
    }
  }
  for (const v1::AcceptRule& rule : spec.accept()) {
    if (names.count(rule.text().substr(0, rule.text().find_first_of("[."))) > 0) {
      *declared.add_accept() = rule;
    }
  }
  // Without a collective left there is nothing that the variables are for.
  if (declared.benchmarks_size() < spec.benchmarks_size()) declared.clear_nccl();
  return declared;
}

std::vector<std::filesystem::path> Examples() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE "/examples")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  EXPECT_GE(paths.size(), 20U);
  return paths;
}

TEST(ExamplesTest, AFleetThatCanRunEverythingAcceptsThem) {
  const v1::RunnerDescription runner = Described();
  std::set<std::string> names;
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) names.insert(schema.name());
  const std::vector<v1::Node> fleet = Fleet(runner, kNodes, kGpusOfANode);
  for (const std::filesystem::path& path : Examples()) {
    SCOPED_TRACE(path);
    const Result<cli::CampaignFile> file = cli::ReadCampaignFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->faults.empty());
    const v1::CampaignSpec spec = Declared(file->spec, names);
    if (spec.benchmarks().empty()) continue;
    const auto expansion = coordinator::ExpandCampaign(spec, fleet);
    EXPECT_TRUE(expansion.ok()) << expansion.status();
  }
}

// What the document says of those that leave out what they find too few GPUs or nodes for.
TEST(ExamplesTest, ThoseThatSkipRunOnSmallFleetsAndLeaveNothingOutOfLargeOnes) {
  const v1::RunnerDescription runner = Described();
  std::set<std::string> names;
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) names.insert(schema.name());
  int skipping = 0;
  for (const std::filesystem::path& path : Examples()) {
    const Result<cli::CampaignFile> file = cli::ReadCampaignFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    if (file->spec.unplaceable() != v1::UNPLACEABLE_SKIP) continue;
    ++skipping;
    const v1::CampaignSpec spec = Declared(file->spec, names);
    // A runner without CUDA leaves of some only what runs over the network.
    if (spec.benchmarks_size() < file->spec.benchmarks_size()) continue;
    for (const auto& [nodes, gpus] : {std::pair(1, 2), {1, 4}, {1, 8}, {2, 4}, {kNodes, 8}}) {
      SCOPED_TRACE(path.filename().string() + " on " + std::to_string(nodes) + " nodes of " +
                   std::to_string(gpus) + " GPUs");
      const auto expansion = coordinator::ExpandCampaign(spec, Fleet(runner, nodes, gpus));
      ASSERT_TRUE(expansion.ok()) << expansion.status();
      if (nodes == kNodes) EXPECT_TRUE(expansion->left_out.empty());
    }
  }
  EXPECT_GE(skipping, 4);
}

TEST(ExamplesTest, TheCatalogueNamesEveryBenchmark) {
  const v1::RunnerDescription runner = Described();
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) {
    const std::string name = "`" + schema.name() + "`";
    EXPECT_NE(Catalogue().find(name), std::string::npos) << name;
  }
}

TEST(ExamplesTest, ReadmeListsEveryExample) {
  const std::string readme = ReadDocument("examples/README.md");
  for (const std::filesystem::path& path : Examples()) {
    EXPECT_THAT(readme, HasSubstr("](" + path.filename().string() + ")"));
  }
}

// Who reads `to: 2GB` takes the largest case for one of 2 GB.
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
        const auto range = coordinator::NumberRange::Parse(axis.range(), spec);
        ASSERT_TRUE(range.ok()) << range.status();
        EXPECT_EQ(range->Values().back(), std::to_string(*to));
      }
    }
  }
}

}  // namespace
}  // namespace assay
