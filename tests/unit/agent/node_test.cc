// Tests the agent's description of its hardware, and its findings.
#include "agent/core/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <future>

#include "agent/core/backoff.h"
#include "agent/core/direct_job.h"
#include "agent/core/inventory.h"
#include "agent/core/node_check.h"
#include "agent/core/preflight.h"
#include "agent/core/result_context.h"
#include "agent/core/runner_environment.h"
#include "host/gpu_model.h"
#include "host/memory.h"
#include "tests/wording.h"

namespace assay::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::shared_ptr<const Nvml> FakeNvml() { return std::move(*Nvml::Open(nullptr, ASSAY_FAKE_NVML)); }

TEST(GpuModelTest, SplitsProductAndFormFactor) {
  const auto parse = [](const char* name) {
    const GpuModel gpu = ParseGpuName(name);
    return gpu.model + "/" + gpu.form_factor;
  };
  EXPECT_EQ(parse("NVIDIA H200"), "H200/SXM");
  EXPECT_EQ(parse("NVIDIA H200 NVL"), "H200/NVL");
  EXPECT_EQ(parse("NVIDIA H100 80GB HBM3"), "H100/SXM");
  EXPECT_EQ(parse("NVIDIA H100 PCIe"), "H100/PCIe");
  EXPECT_EQ(parse("NVIDIA A100-SXM4-80GB"), "A100/SXM");
  EXPECT_EQ(parse("NVIDIA A100-PCIE-40GB"), "A100/PCIe");
  EXPECT_EQ(parse("NVIDIA GeForce RTX 4090"), "RTX 4090/");
  EXPECT_EQ(parse("Tesla T4"), "T4/");
  EXPECT_EQ(parse("NVIDIA L40S"), "L40S/");
  EXPECT_EQ(parse(""), "/");
}

TEST(InventoryTest, ReadsThisHostAndTheFakesGpus) {
  const auto nvml = FakeNvml();
  const v1::NodeInventory inventory = ReadInventory(nvml.get());
  EXPECT_FALSE(inventory.hostname().empty());
  EXPECT_FALSE(inventory.kernel().empty());
  EXPECT_GT(inventory.memory_bytes(), 0);
  EXPECT_GT(inventory.cpu().threads(), 0);
  EXPECT_GE(inventory.cpu().threads(), inventory.cpu().cores());
  ASSERT_EQ(inventory.gpus_size(), 8);
  EXPECT_EQ(inventory.gpus(7).model(), "H200");
  ASSERT_EQ(inventory.gpu_links_size(), 28);
  EXPECT_EQ(inventory.gpu_links(0).no_peer_access(), "");
  EXPECT_EQ(inventory.gpu_links(6).no_peer_access(), "the chipset does not support it");
  EXPECT_EQ(inventory.gpus(7).nvlinks_to_switch(), 18);
  EXPECT_EQ(inventory.gpus(7).nvlink_bytes_per_second(), 26'562'000'000);
  EXPECT_EQ(inventory.driver_version(), "580.95.05");
  EXPECT_EQ(ReadBootId().size(), 36U);
  EXPECT_GT(AvailableHostBytes().value_or(0), 0);
}

// The coordinator keeps a description per session and rewrites it at each Hello.
TEST(InventoryTest, HelloOfAnEightGpuNodeIsSmall) {
  const auto nvml = FakeNvml();
  v1::NodeDescription description;
  description.set_node_id("11111111-1111-1111-1111-111111111111");
  description.set_name("g31.rack7.example.com");
  description.set_boot_id(ReadBootId());
  *description.mutable_inventory() = ReadInventory(nvml.get());
  for (int i = 0; i < 100; ++i) {
    v1::BenchmarkSchema* schema = description.add_benchmarks();
    schema->set_name("benchmark" + std::to_string(i));
    schema->add_parameters()->set_description(std::string(500, 'd'));
  }
  const Node node(description);
  EXPECT_LE(node.Greeting().ByteSizeLong(), size_t{4} << 10);
  EXPECT_GT(node.Schemas().ByteSizeLong(), size_t{50} << 10);
}

TEST(InventoryTest, NoDriverMeansNoGpusAndNoVersion) {
  const v1::NodeInventory inventory = ReadInventory(nullptr);
  EXPECT_EQ(inventory.gpus_size(), 0);
  EXPECT_FALSE(inventory.has_driver_version());
}

TEST(PreflightTest, DriverThatDoesNotWorkIsAnError) {
  EXPECT_FALSE(JudgeNvml(Status::Ok()));
  EXPECT_FALSE(JudgeNvml(NotFound("cannot load libnvidia-ml.so.1", Reason::kNoNvidiaDriver)));
  const auto finding =
      JudgeNvml(Unavailable("of different versions: reboot", Reason::kNvmlUnusable));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity(), v1::HealthFinding::SEVERITY_ERROR);
  EXPECT_EQ(finding->check(), "gpu_driver");
  EXPECT_WORDING("agent/driver-unusable", finding->message());
}

std::vector<std::string> Checks(const PreflightFacts& facts) {
  std::vector<std::string> checks;
  for (const v1::HealthFinding& finding : JudgePreflight(facts)) {
    checks.push_back((finding.severity() == v1::HealthFinding::SEVERITY_ERROR ? "E " : "W ") +
                     finding.check());
  }
  return checks;
}

TEST(PreflightTest, JudgesFacts) {
  PreflightFacts facts;
  PreflightFacts::Gpu& gpu = facts.gpus.emplace_back();
  EXPECT_THAT(Checks(facts), ElementsAre("E gpu_present"));
  gpu.inventory.set_uuid("GPU-1");
  EXPECT_THAT(Checks(facts), IsEmpty()) << "what is unreadable is no fault";
  gpu.errors.ecc_uncorrected = 3;
  gpu.errors.row_remap_pending = true;
  gpu.processes = 1;
  gpu.inventory.set_pcie_width(8);
  gpu.inventory.set_pcie_width_max(16);
  gpu.sample.throttle_reasons = {"gpu_idle", "hw_thermal_slowdown"};
  facts.disk_free_bytes = 1 << 20;
  facts.memory_available_bytes = 100 << 20;
  EXPECT_THAT(Checks(facts),
              ElementsAre("E ecc_uncorrected", "W row_remap", "W gpu_processes", "W pcie_width",
                          "W throttled_before", "E disk_free", "W memory_free"));
}

TEST(PreflightTest, LowPcieGenerationCountsOnlyAtFullClocks) {
  PreflightFacts facts;
  PreflightFacts::Gpu& gpu = facts.gpus.emplace_back();
  gpu.inventory.set_uuid("GPU-1");
  gpu.inventory.set_pcie_generation(1);
  gpu.inventory.set_pcie_generation_max(5);
  gpu.inventory.set_sm_clock_max_mhz(1980);
  gpu.sample.sm_clock_mhz = 345;
  EXPECT_THAT(Checks(facts), IsEmpty());
  gpu.sample.sm_clock_mhz = 1980;
  EXPECT_THAT(Checks(facts), ElementsAre("W pcie_generation"));
}

TEST(PreflightTest, ReadsThroughNvml) {
  const Preflight preflight(FakeNvml(), "/");
  const PreflightReport report = preflight.Run({7, 0}, std::chrono::seconds(20));
  ASSERT_EQ(report.gpus.size(), 2U);
  EXPECT_EQ(report.gpus[0].index(), 7);
  EXPECT_THAT(report.WarningFlags(), ::testing::Contains("gpu_processes"));
}

TEST(PreflightTest, HungDriverHoldsOneThreadOnly) {
  std::promise<void> driver_answers;
  std::atomic<int> calls = 0;
  const Preflight preflight([&, answer = driver_answers.get_future().share()](const auto&) {
    ++calls;
    answer.wait();
    return PreflightFacts();
  });
  const PreflightReport first = preflight.Run({}, std::chrono::milliseconds(1));
  ASSERT_NE(first.FirstError(), nullptr);
  EXPECT_EQ(first.FirstError()->check(), "preflight_budget");
  const PreflightReport second = preflight.Run({}, std::chrono::hours(1));
  ASSERT_NE(second.FirstError(), nullptr);
  EXPECT_EQ(second.FirstError()->message(), first.FirstError()->message());
  driver_answers.set_value();
  while (preflight.Run({}, std::chrono::hours(1)).FirstError() != nullptr) {
  }
  EXPECT_EQ(calls, 2) << "one reading hung, and one came after its end";
}

class NodeCheckTest : public ::testing::Test {
 protected:
  v1::NodeChecked Check(const std::string& runner) {
    const Preflight preflight([this](const auto&) { return facts_; });
    return CheckNode(runner, preflight, &node_);
  }

  static v1::NodeDescription Description() {
    v1::NodeDescription node;
    node.set_node_id("node-1");
    return node;
  }

  PreflightFacts facts_;
  Node node_{Description()};
};

TEST_F(NodeCheckTest, PassesOnASoundNode) {
  facts_.memory_available_bytes = 100 << 20;
  const v1::NodeChecked checked = Check(ASSAY_FAKE_RUNNER);
  EXPECT_FALSE(checked.has_failure()) << checked.DebugString();
  ASSERT_EQ(checked.health_size(), 1) << "a warning is told and does not fail it";
  EXPECT_EQ(checked.health(0).check(), "memory_free");
  EXPECT_EQ(node_.Describe().health_size(), 1);
}

TEST_F(NodeCheckTest, FindingOfSeverityErrorFailsIt) {
  facts_.disk_free_bytes = 1 << 20;
  const v1::NodeChecked checked = Check(ASSAY_FAKE_RUNNER);
  EXPECT_EQ(checked.failure().reason(), v1::REASON_PREFLIGHT_FAILED);
  EXPECT_EQ(checked.failure().node_id(), "node-1");
  EXPECT_EQ(checked.health(0).check(), "disk_free");
}

TEST_F(NodeCheckTest, FindingThatLastsUntilARestartFailsIt) {
  v1::HealthFinding finding;
  finding.set_check("gpu_driver");
  finding.set_severity(v1::HealthFinding::SEVERITY_ERROR);
  node_.AddLastingFinding(finding);
  EXPECT_EQ(Check(ASSAY_FAKE_RUNNER).failure().reason(), v1::REASON_PREFLIGHT_FAILED);
}

TEST_F(NodeCheckTest, RunnerThatExitsAtOnceOrIsMissingFailsIt) {
  for (const char* runner : {"/bin/false", "/bin/true", "/nonexistent"}) {
    EXPECT_EQ(Check(runner).failure().reason(), v1::REASON_RUNNER_UNUSABLE) << runner;
  }
}

TEST(ResultContextTest, ResultNamesTheHardwareThatProducedIt) {
  const auto nvml = FakeNvml();
  ResultContext context;
  *context.node.mutable_inventory() = ReadInventory(nvml.get());
  context.node.set_price_per_hour(2.5);
  context.job.set_world_size(2);
  context.job.set_resource(v1::RESOURCE_KIND_GPU);
  context.job.add_node_ids("node");
  for (int gpu : {1, 3}) {
    context.job.add_ranks()->set_gpu_index(gpu);
    context.gpus.push_back(ReadGpu(*nvml, gpu));
  }
  context.gpus[1].set_power_limit_watts(500);
  context.flags = {"gpu_processes"};
  v1::CaseResult result;
  result.mutable_conditions()->add_flags("gpu_processes");
  CompleteResult(context, &result);
  EXPECT_EQ(result.environment().gpu_model(), "H200");
  EXPECT_EQ(result.environment().gpu_form_factor(), "SXM");
  EXPECT_EQ(result.environment().gpu_count(), 2);
  EXPECT_EQ(result.environment().topology(), "nvlink");
  EXPECT_EQ(result.environment().power_limit_watts(), 500);
  EXPECT_EQ(result.environment().driver_version(), "580.95.05");
  EXPECT_EQ(result.provenance().gpu_uuids_size(), 2);
  EXPECT_EQ(result.provenance().price_per_hour(), 2.5);
  EXPECT_EQ(result.conditions().flags_size(), 1);
}

// Rank 0's node of a gang over two nodes, two ranks on each, with the fake's GPUs 1 and 3.
ResultContext ContextOfGang() {
  auto nvml = FakeNvml();
  ResultContext context;
  *context.node.mutable_inventory() = ReadInventory(nvml.get());
  context.job.set_world_size(4);
  context.job.set_resource(v1::RESOURCE_KIND_GPU);
  for (const char* node : {"a", "b"}) {
    context.job.add_node_ids(std::string("id-") + node);
    context.job.add_node_names(node);
  }
  for (int rank : {0, 1}) {
    v1::RankPlacement* const placement = context.job.add_ranks();
    placement->set_rank(rank);
    placement->set_gpu_index(2 * rank + 1);
    context.gpus.push_back(ReadGpu(*nvml, 2 * rank + 1));
  }
  return context;
}

TEST(ResultContextTest, ResultOfAGangNamesTheGpuOfEveryRank) {
  const ResultContext context = ContextOfGang();
  const std::string first = context.gpus[0].uuid();
  const std::string second = context.gpus[1].uuid();
  v1::CaseResult result;
  for (const char* uuid : {"GPU-0", "GPU-1", "GPU-2", "GPU-3"}) {
    result.mutable_provenance()->add_gpu_uuids(uuid);
  }
  CompleteResult(context, &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), ElementsAre(first, second, "GPU-2", "GPU-3"));
  EXPECT_THAT(result.provenance().node_names(), ElementsAre("a", "b"));
  EXPECT_EQ(result.environment().gpu_model(), "H200");
  EXPECT_EQ(result.environment().gpu_form_factor(), "SXM");
}

TEST(ResultContextTest, IncompleteListOfAGangsGpusIsDropped) {
  v1::CaseResult result;
  result.mutable_provenance()->add_gpu_uuids("GPU-0");
  CompleteResult(ContextOfGang(), &result);
  EXPECT_THAT(result.provenance().gpu_uuids(), IsEmpty());
}

TEST(ResultContextTest, GangOfSeveralModelsNamesThemAll) {
  v1::CaseResult result;
  for (const char* model : {"H200 SXM", "H200 SXM", "H100 SXM", "H100 SXM"}) {
    result.mutable_provenance()->add_gpu_models(model);
  }
  CompleteResult(ContextOfGang(), &result);
  EXPECT_EQ(result.environment().gpu_model(), "H100 SXM + H200 SXM");
  EXPECT_EQ(result.environment().gpu_form_factor(), "");
  EXPECT_EQ(result.provenance().gpu_models_size(), 4);
}

TEST(GangEnvironmentTest, SeveralNodesHaveHostIdAndInterface) {
  v1::JobSpec job;
  job.set_world_size(4);
  (*job.mutable_nccl())["NCCL_ALGO"] = "Ring";
  job.add_node_ids("a");
  job.add_ranks()->set_gpu_index(0);
  EXPECT_THAT(GangEnvironment(job, "id", "127.0.0.1"), ElementsAre(Pair("NCCL_ALGO", "Ring")));
  job.add_node_ids("b");
  EXPECT_THAT(GangEnvironment(job, "id", "127.0.0.1"),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_HOSTID", "id"),
                          Pair("NCCL_SOCKET_IFNAME", "=lo")));
  EXPECT_THAT(GangEnvironment(job, "id", "192.0.2.1"), SizeIs(2)) << "nobody's address";
  (*job.mutable_nccl())["NCCL_SOCKET_IFNAME"] = "eth7";
  EXPECT_EQ(GangEnvironment(job, "id", "127.0.0.1").at("NCCL_SOCKET_IFNAME"), "eth7");
  job.mutable_ranks(0)->set_gpu_index(-1);
  EXPECT_EQ(GangEnvironment(job, "id", "127.0.0.1").count("NCCL_HOSTID"), 0U);
}

TEST(GangEnvironmentTest, ResultsRecordTheEffectiveVariables) {
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  ::setenv("NCCL_ALGO", "Tree", 1);
  v1::JobSpec job;
  job.set_world_size(2);
  job.add_ranks()->set_gpu_index(0);
  (*job.mutable_nccl())["NCCL_ALGO"] = "Ring";
  const auto recorded = [&job](const std::string& host_id) {
    return EffectiveNccl(job, GangEnvironment(job, host_id, "127.0.0.1"), "id");
  };
  EXPECT_THAT(recorded("id"),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_NVLS_ENABLE", "0")));
  job.add_node_ids("id");
  job.add_node_ids("other");
  EXPECT_THAT(recorded("id"), ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_NVLS_ENABLE", "0"),
                                          Pair("NCCL_SOCKET_IFNAME", "=lo")));
  EXPECT_THAT(recorded("one-host"), Contains(Pair("NCCL_HOSTID", "one-host")));
  job.set_world_size(1);
  EXPECT_THAT(recorded("one-host"), IsEmpty());
  ::unsetenv("NCCL_NVLS_ENABLE");
  ::unsetenv("NCCL_ALGO");
}

TEST(ResultContextTest, NamesTheTopology) {
  v1::NodeInventory inventory;
  v1::JobSpec job;
  EXPECT_EQ(TopologyClass(inventory, job), "none");
  job.add_ranks()->set_gpu_index(0);
  EXPECT_EQ(TopologyClass(inventory, job), "single");
  job.add_ranks()->set_gpu_index(1);
  EXPECT_EQ(TopologyClass(inventory, job), "pcie");
  job.set_resource(v1::RESOURCE_KIND_NETWORK);
  EXPECT_EQ(TopologyClass(inventory, job), "network");
}

TEST(BackoffTest, GrowsWithJitterAndResetsAfterStability) {
  Backoff backoff(1);
  const Duration first = backoff.Next();
  EXPECT_GE(first, std::chrono::milliseconds(200));
  EXPECT_LE(first, std::chrono::seconds(1));
  Duration longest{0};
  for (int i = 0; i < 200; ++i) longest = std::max(longest, backoff.Next());
  EXPECT_GT(longest, std::chrono::seconds(30));
  EXPECT_LE(longest, std::chrono::seconds(60));
  backoff.SessionEnded(std::chrono::minutes(3));
  EXPECT_LE(backoff.Next(), std::chrono::seconds(1));
}

TEST(BackoffTest, LimitAppliesToTheBoundOfTheJitter) {
  Backoff backoff(1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  Duration longest{0};
  Duration shortest = std::chrono::hours(1);
  for (int i = 0; i < 200; ++i) {
    const Duration delay = backoff.Next(std::chrono::seconds(10));
    longest = std::max(longest, delay);
    shortest = std::min(shortest, delay);
  }
  EXPECT_LE(longest, std::chrono::seconds(10));
  EXPECT_LT(shortest, std::chrono::seconds(3)) << "spread over the whole range";
  EXPECT_GE(backoff.Next(Duration(1)), std::chrono::milliseconds(200));
}

class DirectJobTest : public ::testing::Test {
 protected:
  DirectJobTest() {
    v1::BenchmarkSchema* schema = node_.add_benchmarks();
    schema->set_name("all_reduce");
    schema->set_resource(v1::RESOURCE_KIND_GPU);
    schema->set_collective(true);
    v1::ParameterSchema* ranks = schema->add_parameters();
    ranks->set_name("ranks");
    ranks->set_type(v1::PARAMETER_TYPE_INTEGER);
    ranks->set_default_value("2");
    request_.set_benchmark("all_reduce");
    for (int i = 0; i < 4; ++i) node_.mutable_inventory()->add_gpus()->set_index(i);
  }

  v1::NodeDescription node_;
  v1::RunJobRequest request_;
};

TEST_F(DirectJobTest, PlacesRanksOnGpus) {
  const auto first = PlanDirectJob(node_, request_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->world_size(), 2);
  EXPECT_EQ(first->ranks(1).gpu_index(), 1);
  request_.add_gpu_indices(3);
  request_.add_gpu_indices(2);
  EXPECT_EQ(PlanDirectJob(node_, request_)->ranks(0).gpu_index(), 3);
}

TEST_F(DirectJobTest, CountersNeedASingleGpu) {
  request_.set_counters(true);
  const std::vector<Violation> violations = PlanDirectJob(node_, request_).status().violations();
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].field, "counters");
  EXPECT_EQ(violations[0].description,
            "all_reduce runs on several GPUs, and hardware counters are read of benchmarks on one "
            "GPU");
  v1::BenchmarkSchema* gemm = node_.add_benchmarks();
  gemm->set_name("gemm");
  gemm->set_resource(v1::RESOURCE_KIND_GPU);
  request_.set_benchmark("gemm");
  EXPECT_TRUE(PlanDirectJob(node_, request_)->counters());
  request_.set_counters(false);
  EXPECT_FALSE(PlanDirectJob(node_, request_)->counters());
}

TEST_F(DirectJobTest, RefusalsNameTheFault) {
  request_.add_gpu_indices(9);
  request_.add_gpu_indices(0);
  const Status unknown_gpu = PlanDirectJob(node_, request_).status();
  ASSERT_EQ(unknown_gpu.violations().size(), 1U);
  EXPECT_EQ(unknown_gpu.violations()[0].field, "gpu_indices");
  request_.clear_gpu_indices();
  (*request_.mutable_parameters())["ranks"] = "16";
  EXPECT_EQ(PlanDirectJob(node_, request_).status().reason(), Reason::kTooFewGpus);
  (*request_.mutable_parameters())["ranks"] = "two";
  EXPECT_EQ(PlanDirectJob(node_, request_).status().code(), Code::kInvalidArgument);
  // Errors of the user are reported before deficiencies of the node.
  node_.mutable_benchmarks(0)->set_unsupported_reason("needs a CUDA GPU; this node has none");
  EXPECT_EQ(PlanDirectJob(node_, request_).status().code(), Code::kInvalidArgument);
  (*request_.mutable_parameters())["ranks"] = "2";
  EXPECT_EQ(PlanDirectJob(node_, request_).status().reason(), Reason::kUnsupported);
  request_.set_benchmark("all_reduc");
  EXPECT_WORDING("agent/unknown-benchmark", PlanDirectJob(node_, request_).status().ToString());
}

}  // namespace
}  // namespace assay::agent
