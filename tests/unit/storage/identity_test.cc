#include "storage/identity.h"

#include <gtest/gtest.h>

#include "tests/storage_records.h"

namespace assay::storage {
namespace {

v1::CaseResult Golden() {
  LeasedJob job;
  job.job = MakeJob({"a"});
  return MakeResult(job);
}

Identity Of(const v1::CaseResult& result) { return IdentityOf(result); }

// A change of these ids splits every stored series in two.
TEST(Identity, DoesNotChangeBetweenReleases) {
  const Identity identity = Of(Golden());
  EXPECT_EQ(identity.series_json,
            R"({"benchmark":"cpu_gemm","cache":"cold","direction":1,"environment":)"
            R"({"cpu_model":"","driver_version":"580.95.05","gpu_count":1,)"
            R"("gpu_form_factor":"SXM","gpu_model":"H200","mig_profile":"","node_count":0,)"
            R"("software":{"cuda_runtime":"13.0"},"topology":""},"fill":"random",)"
            R"("metric":"tflops","parameters":{"m":"1"},"simulated":false,)"
            R"("unit":"TFLOP/s","version":1})");
  EXPECT_EQ(identity.series_id, "bd22a438afdde467644adbc303ffd0783a737f9227ac7d76f6a0d82266ad6359");
  EXPECT_EQ(identity.lineage_id,
            "8df9d9b296dda3568fd0730f43f770b5bf2c72082375b2d0146aab62796e8f96");
  EXPECT_EQ(identity.environment_id,
            "502c8e95b8ad247e7ff542cf2763ba5a1b2e95f84b733354c8785c9fb71c18e0");
}

TEST(Identity, DriverAndLibrariesChangeTheSeriesAndNotTheLineage) {
  const Identity before = Of(Golden());
  v1::CaseResult result = Golden();
  result.mutable_environment()->set_driver_version("570.1");
  const Identity driver = Of(result);
  result.mutable_environment()->mutable_software()->set_nccl("2.27.3");
  const Identity library = Of(result);
  EXPECT_NE(driver.series_id, before.series_id);
  EXPECT_NE(library.series_id, driver.series_id);
  EXPECT_NE(driver.environment_id, before.environment_id);
  EXPECT_EQ(driver.lineage_id, before.lineage_id);
  EXPECT_EQ(library.lineage_id, before.lineage_id);
}

TEST(Identity, CpuModelChangesTheLineageOnlyWithoutGpus) {
  v1::CaseResult result = Golden();
  result.mutable_environment()->set_cpu_model("EPYC 9654");
  EXPECT_EQ(Of(result).lineage_id, Of(Golden()).lineage_id);
  EXPECT_NE(Of(result).series_id, Of(Golden()).series_id);
  EXPECT_NE(Of(result).environment_id, Of(Golden()).environment_id);
  v1::CaseResult cpu = Golden();
  cpu.mutable_environment()->set_gpu_count(0);
  result.mutable_environment()->set_gpu_count(0);
  EXPECT_NE(Of(result).lineage_id, Of(cpu).lineage_id);
}

TEST(Identity, NcclSettingsChangeSeriesAndLineage) {
  const Identity before = Of(Golden());
  v1::CaseResult result = Golden();
  (*result.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "Ring";
  const Identity ring = Of(result);
  (*result.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "Tree";
  EXPECT_NE(ring.series_id, before.series_id);
  EXPECT_NE(ring.lineage_id, before.lineage_id);
  EXPECT_NE(ring.environment_id, before.environment_id);
  EXPECT_NE(Of(result).series_id, ring.series_id);
  EXPECT_NE(ring.environment_json.find(R"("nccl":{"NCCL_ALGO":"Ring"})"), std::string::npos);
}

TEST(Identity, AbsentIsNotZero) {
  v1::CaseResult zero = Golden();
  zero.mutable_environment()->set_power_limit_watts(0);
  v1::CaseResult off = Golden();
  off.mutable_environment()->set_ecc_enabled(false);
  EXPECT_NE(Of(zero).lineage_id, Of(Golden()).lineage_id);
  EXPECT_NE(Of(off).lineage_id, Of(Golden()).lineage_id);
}

TEST(Identity, ParametersMetricCacheAndSimulationChangeTheLineage) {
  const Identity before = Of(Golden());
  v1::CaseResult result = Golden();
  (*result.mutable_parameters())["m"] = "2";
  EXPECT_NE(Of(result).lineage_id, before.lineage_id);
  result = Golden();
  result.mutable_measurements()->SwapElements(0, 1);
  EXPECT_NE(Of(result).lineage_id, before.lineage_id);
  result = Golden();
  result.mutable_measurements(0)->mutable_method()->set_cache("hot");
  EXPECT_NE(Of(result).lineage_id, before.lineage_id);
  result = Golden();
  result.mutable_provenance()->set_simulated(true);
  EXPECT_NE(Of(result).lineage_id, before.lineage_id);
}

TEST(Identity, InstancesAndConditionsDoNotChangeTheSeries) {
  v1::CaseResult result = Golden();
  result.mutable_provenance()->set_provider("other");
  result.mutable_provenance()->add_node_ids("b");
  result.mutable_conditions()->set_power_watts(700);
  result.set_epoch(9);
  result.mutable_measurements(0)->set_median(1);
  EXPECT_EQ(Of(result).series_id, Of(Golden()).series_id);
}

}  // namespace
}  // namespace assay::storage
