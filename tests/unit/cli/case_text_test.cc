#include "cli/views/case_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/views/message_json.h"
#include "tests/unit/cli/analysis_answers.h"

namespace assay::cli {
namespace {

TEST(CaseNames, ShortNamesHaveOnlyWhatVaries) {
  const CaseNames names({GemmCase("4096"), GemmCase("8192"), CopyCase()});
  EXPECT_EQ(names.Short(GemmCase("8192")), "gemm m=n=k=8192");
  EXPECT_EQ(names.Short(CopyCase()), "memory_bandwidth 1GiB fp32 copy");
  EXPECT_EQ(names.Full(GemmCase("8192")), "gemm m=n=k=8192 bf16: tflops");
}

TEST(CaseNames, SeveralMetricsOrHardware_AreNamed) {
  v1::CaseIdentity time = GemmCase("4096");
  time.set_metric("time");
  v1::CaseIdentity other = CopyCase();
  other.mutable_hardware()->set_gpu_model("H100");
  const CaseNames names({GemmCase("4096"), time, other});
  EXPECT_EQ(names.Short(time), "gemm m=n=k=4096 bf16 H200 SXM: time");
  EXPECT_EQ(names.Short(other), "memory_bandwidth 1GiB fp32 copy H100 SXM");
}

TEST(CaseNames, ControlCharactersAreReplaced) {
  v1::CaseIdentity hostile = GemmCase(kHostile);
  hostile.set_benchmark(kHostile);
  const CaseNames names({hostile});
  EXPECT_EQ(names.Short(hostile).find('\x1b'), std::string::npos);
  EXPECT_EQ(names.Full(hostile).find('\n'), std::string::npos);
}

TEST(PlaceText, NamesGpusByIndexOrUuid) {
  EXPECT_EQ(PlaceText(GpuPlace(3)), "GPU 3 of sim-0007");
  EXPECT_EQ(PlaceText(NodePlace("sim-0007")), "sim-0007 (8 GPUs)");
  v1::Place removed = GpuPlace(3);
  removed.clear_gpu_indices();
  EXPECT_EQ(PlaceText(removed), "GPU-5d81be3d of sim-0007");
  v1::Place cpu;
  cpu.add_node_names("g1");
  EXPECT_EQ(PlaceText(cpu), "g1");
  cpu.add_node_names("g2");
  cpu.add_node_names("g3");
  EXPECT_EQ(PlaceText(cpu), "g1 +2");
  EXPECT_EQ(PlaceText({}), "unknown place");
  removed.set_node_names(0, kHostile);
  EXPECT_EQ(PlaceText(removed).find('\x1b'), std::string::npos);
}

TEST(PlaceNoun, DependsOnTheHardware) {
  v1::CaseIdentity cpu = GemmCase("1");
  cpu.mutable_hardware()->set_gpu_count(0);
  v1::CaseIdentity gang = GemmCase("1");
  gang.mutable_hardware()->set_gpu_count(8);
  EXPECT_EQ(PlaceNoun({GemmCase("1")}), "GPU");
  EXPECT_EQ(PlaceNoun({cpu}), "node");
  EXPECT_EQ(PlaceNoun({GemmCase("1"), gang}), "place");
}

TEST(ChangeText, HasASignUnlessZero) {
  EXPECT_EQ(ChangeText(0.803), "-19.7%");
  EXPECT_EQ(ChangeText(1.125), "+12.5%");
  EXPECT_EQ(ChangeText(0.9999), "0.0%");
  EXPECT_EQ(ChangeText(0.0 / 0.0), "");
}

TEST(MessageJson, HasWordsTimesMapsAndNoUnsetFields) {
  const auto json = nlohmann::json::parse(MessageJson(DriverRegressions()));
  EXPECT_EQ(json["incidents"][0]["cause"], "driver");
  EXPECT_EQ(json["incidents"][0]["start_time"], "2026-11-21T04:00:00Z");
  EXPECT_EQ(json["regressions"][0]["case"]["parameters"]["op"], "copy");
  EXPECT_EQ(json["regressions"][0]["place"]["gpu_indices"][0], 3);
  EXPECT_EQ(json["regressions"][0]["explanations"][0]["after"], 1755);
  EXPECT_FALSE(json["regressions"][0]["explanations"][1].contains("after"));
  EXPECT_FALSE(json["regressions"][1].contains("scope"));
  EXPECT_EQ(json["regressions"][1]["false_alarm"], false);
  EXPECT_TRUE(json["regressions"][1]["reruns"].empty());
  v1::CostRow row;
  row.set_median(0.0 / 0.0);
  row.set_provider("\xff");
  EXPECT_FALSE(nlohmann::json::parse(MessageJson(row)).contains("median"));
}

}  // namespace
}  // namespace assay::cli
