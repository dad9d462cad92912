#include "campaign/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/digest.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

// Returns the only violation of a refused campaign.
Violation OnlyViolation(const Result<Expansion>& expansion) {
  EXPECT_FALSE(expansion.ok());
  if (expansion.ok()) return {};
  EXPECT_THAT(expansion.status().violations(), SizeIs(1)) << expansion.status();
  return expansion.status().violations()[0];
}

std::string IdOf(char digit) { return MakeFleetNode("", digit, 0).description().node_id(); }

TEST(ExpandTest, CpuBenchmark_HasOneJobPerMatchingNode) {
  const auto expansion = ExpandCampaign(MakeSpec("cpu_gemm"), ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(3));
  EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('1')));
  EXPECT_EQ(expansion->jobs[0].timeout, std::chrono::minutes(20));
  EXPECT_TRUE(expansion->jobs[0].exclusive_node);
  EXPECT_EQ(expansion->jobs[0].cases[0].parameters().at("dtype"), "fp32");
}

TEST(ExpandTest, PlacementAny_HasOneJobWithAllCandidates) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok());
  ASSERT_THAT(expansion->jobs, SizeIs(1));
  EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('1'), IdOf('2'), IdOf('3')));
}

TEST(ExpandTest, JobsWithEqualCandidates_ShareTheList) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_repetitions(2);
  *spec.add_benchmarks() = spec.benchmarks(0);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(4));
  for (const storage::NewJob& job : expansion->jobs) {
    EXPECT_EQ(&job.candidate_node_ids.front(), &expansion->jobs[0].candidate_node_ids.front());
  }
}

TEST(ExpandTest, SingleRank_HasOneJobPerGpu) {
  const auto expansion = ExpandCampaign(MakeSpec("gemm"), ThreeNodes());
  ASSERT_TRUE(expansion.ok());
  ASSERT_THAT(expansion->jobs, SizeIs(10));  // Two of node a, eight of node b.
  EXPECT_THAT(expansion->jobs[2].gpu_indices, ElementsAre(0));
  EXPECT_THAT(expansion->jobs[9].gpu_indices, ElementsAre(7));
}

TEST(ExpandTest, GpuIndices_SelectGpus) {
  v1::CampaignSpec spec = MakeSpec("gemm");
  spec.mutable_benchmarks(0)->add_gpu_indices(1);
  spec.mutable_benchmarks(0)->add_gpu_indices(5);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok());
  EXPECT_THAT(expansion->jobs, SizeIs(3));
}

TEST(ExpandTest, Job_KnowsItsEntry) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_repetitions(2);
  *spec.add_benchmarks() = spec.benchmarks(0);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok());
  std::vector<int> entries;
  for (const storage::NewJob& job : expansion->jobs) {
    entries.push_back(job.benchmark_index.value_or(-1));
  }
  EXPECT_THAT(entries, ElementsAre(0, 1, 0, 1));
}

TEST(ExpandTest, Counters_EntryOverridesCampaign) {
  v1::CampaignSpec spec = MakeSpec("gemm");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  *spec.add_benchmarks() = spec.benchmarks(0);
  const auto counters = [&spec] {
    const auto expansion = ExpandCampaign(spec, ThreeNodes());
    EXPECT_TRUE(expansion.ok()) << expansion.status();
    std::vector<bool> wanted;
    for (const storage::NewJob& job : expansion->jobs) wanted.push_back(job.counters);
    return wanted;
  };
  EXPECT_THAT(counters(), ElementsAre(false, false));
  spec.mutable_benchmarks(1)->set_counters(true);
  EXPECT_THAT(counters(), ElementsAre(false, true));
  spec.set_counters(true);
  spec.mutable_benchmarks(1)->set_counters(false);
  EXPECT_THAT(counters(), ElementsAre(true, false));
  // The campaign's setting does not apply to benchmarks without counters.
  spec.mutable_benchmarks(0)->set_benchmark("cpu_gemm");
  spec.mutable_benchmarks(1)->clear_counters();
  EXPECT_THAT(counters(), ElementsAre(testing::_, true));
}

TEST(ExpandTest, Collectives_AreGroupedByRanks) {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  AddAxis(*spec.mutable_benchmarks(0), "bytes", {"1KiB", "1MiB"});
  AddAxis(*spec.mutable_benchmarks(0), "ranks", {"2", "4"});
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(3));  // Two ranks on a and b, four on b alone.
  EXPECT_EQ(expansion->jobs[2].world_size, 4);
  EXPECT_THAT(expansion->jobs[2].gpu_indices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(expansion->jobs[2].cases, SizeIs(2));
  EXPECT_EQ(expansion->jobs[2].cases[1].parameters().at("bytes"), "1048576");
}

// Five nodes with four GPUs each: a to e.
std::vector<v1::Node> FiveNodes() {
  std::vector<v1::Node> nodes;
  for (char id = '1'; id <= '5'; ++id) {
    nodes.push_back(MakeFleetNode(std::string(1, static_cast<char>('a' + id - '1')), id, 4));
  }
  return nodes;
}

v1::CampaignSpec OverNodes(const std::string& ranks, const std::string& nodes) {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  AddAxis(*spec.mutable_benchmarks(0), "ranks", {ranks});
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {nodes});
  return spec;
}

TEST(ExpandTest, Ranks_SpreadEvenlyOverNodes) {
  const auto expansion = ExpandCampaign(OverNodes("4", "2"), FiveNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(3));
  EXPECT_EQ(expansion->jobs[0].world_size, 4);
  EXPECT_EQ(expansion->jobs[0].node_count, 2);
  EXPECT_THAT(expansion->jobs[0].gpu_indices, ElementsAre(0, 1));
  EXPECT_THAT(expansion->jobs[1].candidate_node_ids, ElementsAre(IdOf('3'), IdOf('4')));
  EXPECT_THAT(expansion->jobs[2].candidate_node_ids, ElementsAre(IdOf('4'), IdOf('5')));
}

TEST(ExpandTest, Cases_AreGroupedByRanksAndNodes) {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  AddAxis(*spec.mutable_benchmarks(0), "bytes", {"1KiB", "1MiB"});
  AddAxis(*spec.mutable_benchmarks(0), "nodes", {"1", "2"});
  AddAxis(*spec.mutable_benchmarks(0), "ranks", {"2", "4"});
  const auto expansion = ExpandCampaign(spec, FiveNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(4));
  for (const storage::NewJob& job : expansion->jobs) EXPECT_THAT(job.cases, SizeIs(2));
  EXPECT_EQ(expansion->jobs[3].node_count, 2);
  EXPECT_THAT(expansion->jobs[3].candidate_node_ids, SizeIs(5));
}

TEST(ExpandTest, Pairs_MeetOnceInRoundsOfATournament) {
  for (size_t count = 2; count <= 9; ++count) {
    std::vector<v1::Node> nodes;
    for (size_t i = 0; i < count; ++i) {
      nodes.push_back(
          MakeFleetNode(std::string(1, static_cast<char>('a' + i)), static_cast<char>('1' + i), 2));
    }
    for (v1::CampaignSpec spec : {MakeSpec("tcp_all_reduce"), OverNodes("4", "2")}) {
      spec.set_placement(v1::PLACEMENT_POLICY_PAIRS);
      const auto expansion = ExpandCampaign(spec, nodes);
      ASSERT_TRUE(expansion.ok()) << expansion.status();
      ASSERT_EQ(expansion->jobs.size(), count * (count - 1) / 2);
      std::set<std::vector<std::string>> seen;
      const size_t round = count / 2;
      for (size_t first = 0; first < expansion->jobs.size(); first += round) {
        std::set<std::string> busy;
        for (size_t i = first; i < first + round; ++i) {
          const auto& pair = expansion->jobs[i].candidate_node_ids;
          ASSERT_THAT(pair, SizeIs(2));
          EXPECT_LT(pair[0], pair[1]);
          EXPECT_TRUE(seen.insert(pair).second);
          busy.insert(pair.begin(), pair.end());
        }
        EXPECT_EQ(busy.size(), 2 * round) << "a node is in two pairs of one round";
      }
    }
  }
}

TEST(ExpandTest, Pairs_AreCountedBeforeTheyAreMade) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < 200; ++i) {
    nodes.push_back(MakeFleetNode("node-" + std::to_string(i), '1', 0));
    nodes.back().mutable_description()->set_node_id("id-" + std::to_string(i));
  }
  v1::CampaignSpec spec = MakeSpec("tcp_all_reduce");
  spec.set_placement(v1::PLACEMENT_POLICY_PAIRS);
  EXPECT_EQ(OnlyViolation(ExpandCampaign(spec, nodes)).field, "benchmarks");
}

TEST(ExpandTest, PlacementAny_TakesNodesWithEqualVersions) {
  std::vector<v1::Node> nodes = FiveNodes();
  for (int i : {0, 3}) {
    nodes[static_cast<size_t>(i)].mutable_description()->mutable_inventory()->set_driver_version(
        "570.1");
  }
  v1::CampaignSpec spec = OverNodes("4", "2");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  const auto expansion = ExpandCampaign(spec, nodes);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('2'), IdOf('3'), IdOf('5')));
}

TEST(ExpandTest, MixedVersions_AreRefusedIfNoPlacementIsUniform) {
  std::vector<v1::Node> nodes = FiveNodes();
  nodes.resize(3);
  nodes[0].mutable_description()->mutable_inventory()->mutable_software()->set_nccl("2.27.3");
  EXPECT_TRUE(ExpandCampaign(OverNodes("4", "2"), nodes).ok());  // b and c are alike.
  nodes.pop_back();
  const Violation violation = OnlyViolation(ExpandCampaign(OverNodes("4", "2"), nodes));
  EXPECT_EQ(violation.field, "benchmarks[0].nodes");
  EXPECT_WORDING("campaign/mixed-versions", violation.description);
}

// Sets the GPU model of some nodes: "25" names the second and the fifth.
std::vector<v1::Node> WithModel(std::vector<v1::Node> nodes, const std::string& which,
                                const std::string& model) {
  for (const char digit : which) {
    for (auto& gpu : *nodes[static_cast<size_t>(digit - '1')]
                          .mutable_description()
                          ->mutable_inventory()
                          ->mutable_gpus()) {
      gpu.set_model(model);
    }
  }
  return nodes;
}

TEST(ExpandTest, PlacementAny_TakesNodesWithOneGpuModel) {
  v1::CampaignSpec spec = OverNodes("4", "2");
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  const auto expansion = ExpandCampaign(spec, WithModel(FiveNodes(), "14", "H100"));
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('2'), IdOf('3'), IdOf('5')));
  EXPECT_FALSE(expansion->jobs[0].mixed_gpus);
}

TEST(ExpandTest, PlacementEach_GroupsNodesByGpuModel) {
  const auto expansion = ExpandCampaign(OverNodes("4", "2"), WithModel(FiveNodes(), "14", "H100"));
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  std::vector<std::vector<std::string>> groups;
  for (const storage::NewJob& job : expansion->jobs) groups.push_back(job.candidate_node_ids);
  EXPECT_THAT(groups,
              ElementsAre(ElementsAre(IdOf('1'), IdOf('4')), ElementsAre(IdOf('2'), IdOf('3')),
                          ElementsAre(IdOf('3'), IdOf('5'))));
}

TEST(ExpandTest, MixedGpus_AreRefusedUnlessAllowed) {
  const std::vector<v1::Node> nodes = WithModel(FiveNodes(), "5", "H100");
  v1::CampaignSpec each = OverNodes("4", "2");
  v1::CampaignSpec any = OverNodes("10", "5");
  any.set_placement(v1::PLACEMENT_POLICY_ANY);
  v1::CampaignSpec pairs = OverNodes("4", "2");
  pairs.set_placement(v1::PLACEMENT_POLICY_PAIRS);
  for (v1::CampaignSpec* spec : {&each, &any, &pairs}) {
    const Violation violation = OnlyViolation(ExpandCampaign(*spec, nodes));
    EXPECT_EQ(violation.field, "benchmarks[0].nodes");
    if (spec == &each) EXPECT_WORDING("campaign/mixed-gpus", violation.description);
    spec->set_mixed_gpus(true);
    const auto allowed = ExpandCampaign(*spec, nodes);
    ASSERT_TRUE(allowed.ok()) << allowed.status();
    EXPECT_TRUE(allowed->jobs[0].mixed_gpus);
  }
  const auto groups = ExpandCampaign(each, nodes);
  ASSERT_THAT(groups->jobs, SizeIs(3));
  EXPECT_THAT(groups->jobs[1].candidate_node_ids, ElementsAre(IdOf('3'), IdOf('4')));
  EXPECT_THAT(groups->jobs[2].candidate_node_ids, ElementsAre(IdOf('5'), IdOf('4')));
  EXPECT_THAT(ExpandCampaign(pairs, nodes)->jobs, SizeIs(10));
}

TEST(ExpandTest, SingleNodeGang_HasOneGpuModel) {
  v1::Node node = MakeFleetNode("a", '1', 4);
  node.mutable_description()->mutable_inventory()->mutable_gpus(1)->set_model("L40S");
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  const Violation violation = OnlyViolation(ExpandCampaign(spec, {node}));
  EXPECT_EQ(violation.field, "benchmarks[0].ranks");
  EXPECT_WORDING("campaign/mixed-gpus-of-one-node", violation.description);
  for (int index : {0, 2}) spec.mutable_benchmarks(0)->add_gpu_indices(index);
  EXPECT_TRUE(ExpandCampaign(spec, {node}).ok());
  spec.mutable_benchmarks(0)->clear_gpu_indices();
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  const auto elsewhere = ExpandCampaign(spec, {node, MakeFleetNode("b", '2', 2)});
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
  EXPECT_THAT(elsewhere->jobs[0].candidate_node_ids, ElementsAre(IdOf('2')));
  spec.set_mixed_gpus(true);
  EXPECT_TRUE(ExpandCampaign(spec, {node}).ok());
}

TEST(ExpandTest, NetworkJobs_NeedNoGpus) {
  const std::vector<v1::Node> nodes = WithModel(FiveNodes(), "2", "H100");
  EXPECT_TRUE(ExpandCampaign(MakeSpec("tcp_all_reduce"), nodes).ok());
}

TEST(ExpandTest, NcclSettings_EntryOverridesCampaignForCollectivesOnly) {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  *spec.add_benchmarks() = MakeSpec("gemm").benchmarks(0);
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  (*spec.mutable_nccl())["NCCL_ALGO"] = "Ring";
  (*spec.mutable_nccl())["NCCL_PROTO"] = "Simple";
  (*spec.mutable_benchmarks(0)->mutable_nccl())["NCCL_ALGO"] = "Tree";
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->jobs[0].nccl,
              ElementsAre(Pair("NCCL_ALGO", "Tree"), Pair("NCCL_PROTO", "Simple")));
  EXPECT_THAT(expansion->jobs[1].nccl, SizeIs(0));
}

TEST(ExpandTest, NetworkGroups_CoverEveryNode) {
  const auto expansion = ExpandCampaign(MakeSpec("tcp_all_reduce"), ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  ASSERT_THAT(expansion->jobs, SizeIs(2));
  EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('1'), IdOf('2')));
  EXPECT_THAT(expansion->jobs[1].candidate_node_ids, ElementsAre(IdOf('2'), IdOf('3')));
  EXPECT_EQ(expansion->jobs[0].node_count, 2);
}

TEST(ExpandTest, Axes_VaryInFileOrderAndReferencesFollow) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  v1::BenchmarkMatrix& matrix = *spec.mutable_benchmarks(0);
  matrix.clear_axes();
  AddAxis(matrix, "m", {"1024", "64"});
  v1::ParameterAxis* k = matrix.add_axes();
  k->set_name("k");
  k->mutable_range()->set_from("1");
  k->mutable_range()->set_to("5");
  k->mutable_range()->set_factor("2");
  v1::ParameterAxis* n = matrix.add_axes();
  n->set_name("n");
  n->set_same_as("m");
  const auto expansion = ExpandCampaign(spec, {MakeFleetNode("a", '1', 0)});
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  std::vector<std::string> seen;
  for (const v1::BenchmarkCase& one : expansion->jobs[0].cases) {
    const auto& p = one.parameters();
    seen.push_back(p.at("m") + " " + p.at("n") + " " + p.at("k"));
  }
  EXPECT_THAT(seen, ElementsAre("1024 1024 1", "1024 1024 2", "1024 1024 4", "64 64 1", "64 64 2",
                                "64 64 4"));
}

// Returns a node with this version of every benchmark, which joined at `seconds`.
v1::Node NodeOfVersion(const std::string& name, char digit, int version, int64_t seconds) {
  v1::Node node = MakeFleetNode(name, digit, 0);
  for (v1::BenchmarkSchema& schema : *node.mutable_description()->mutable_benchmarks()) {
    schema.set_version(version);
  }
  node.mutable_first_seen_time()->set_seconds(seconds);
  return node;
}

TEST(ExpandTest, NodeWithAnotherVersionIsLeftOut) {
  const std::vector<v1::Node> nodes = {NodeOfVersion("hostile", '9', INT32_MAX, 300),
                                       NodeOfVersion("a", '1', 4, 100)};
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  for (const char* filter : {"", "name = a"}) {
    spec.set_node_filter(filter);
    const auto expansion = ExpandCampaign(spec, nodes);
    ASSERT_TRUE(expansion.ok()) << expansion.status();
    ASSERT_THAT(expansion->jobs, SizeIs(1)) << filter;
    EXPECT_EQ(expansion->jobs[0].benchmark_version, 4);
    EXPECT_THAT(expansion->jobs[0].candidate_node_ids, ElementsAre(IdOf('1')));
  }
  spec.set_node_filter("name = hostile");
  const auto own = ExpandCampaign(spec, nodes);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->jobs[0].benchmark_version, INT32_MAX);
}

TEST(ExpandTest, VersionOfMostMatchingNodesIsUsed) {
  std::vector<v1::Node> nodes = {NodeOfVersion("old", '1', 1, 10), NodeOfVersion("a", '2', 2, 20),
                                 NodeOfVersion("b", '3', 2, 30), NodeOfVersion("new", '4', 3, 40)};
  const auto expansion = ExpandCampaign(MakeSpec("cpu_gemm"), nodes);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_THAT(expansion->jobs, SizeIs(2));
  EXPECT_EQ(expansion->jobs[0].benchmark_version, 2);
  // Nodes that cannot run a version do not vote for it.
  for (const size_t i : {size_t{1}, size_t{2}}) {
    nodes[i].mutable_description()->mutable_benchmarks(0)->set_unsupported_reason("no BLAS");
  }
  const auto able = ExpandCampaign(MakeSpec("cpu_gemm"), nodes);
  ASSERT_TRUE(able.ok()) << able.status();
  EXPECT_EQ(able->jobs[0].benchmark_version, 1);
}

TEST(ExpandTest, DeclarationOfMostNodesIsUsed) {
  std::vector<v1::Node> nodes = ThreeNodes();
  nodes[0].mutable_description()->mutable_benchmarks(0)->mutable_parameters(0)->set_maximum(1);
  const auto expansion = ExpandCampaign(MakeSpec("cpu_gemm"), nodes);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
}

TEST(ExpandTest, SeedsCannotBeComputedFromJobIds) {
  const auto expansion = ExpandCampaign(MakeSpec("cpu_gemm"), ThreeNodes());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  std::set<uint64_t> seeds;
  for (const storage::NewJob& job : expansion->jobs) {
    seeds.insert(job.seed);
    EXPECT_NE(job.seed, std::stoull(Sha256Hex(job.job_id).substr(0, 16), nullptr, 16));
  }
  EXPECT_THAT(seeds, SizeIs(3));
}

TEST(ExpandTest, Repetitions_FirstOfEverythingComesFirst) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(2);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_TRUE(expansion.ok());
  std::vector<int> repetitions;
  for (const storage::NewJob& job : expansion->jobs) repetitions.push_back(job.repetition);
  EXPECT_THAT(repetitions, ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_EQ(expansion->case_runs, 6);
}

}  // namespace
}  // namespace assay::campaign
