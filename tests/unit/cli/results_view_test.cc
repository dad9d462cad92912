#include "cli/views/results_view.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/views/result_marks.h"
#include "cli/views/utf8.h"
#include "wire/result_flags.h"

namespace assay::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

v1::StoredResult Gemm(const std::string& m, const std::string& dtype, double tflops) {
  v1::StoredResult result;
  result.set_result_id("r-" + m);
  result.set_series_id("s");
  result.set_lineage_id("l");
  v1::CaseResult& run = *result.mutable_case_result();
  run.set_benchmark("gemm");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  for (const char* name : {"m", "n", "k"}) (*run.mutable_parameters())[name] = m;
  (*run.mutable_parameters())["dtype"] = dtype;
  (*run.mutable_parameters())["fill"] = "random";
  v1::Measurement& measurement = *run.add_measurements();
  measurement.set_metric("tflops");
  measurement.set_unit("TFLOP/s");
  measurement.set_n(30);
  measurement.set_median(tflops);
  measurement.set_mad(tflops / 200);
  measurement.set_ci_low(tflops * 0.998);
  measurement.set_ci_high(tflops * 1.008);
  run.mutable_prediction()->set_efficiency_spec(0.72);
  run.mutable_provenance()->add_node_names("node-a");
  run.mutable_environment()->set_gpu_model("H200");
  run.mutable_environment()->set_gpu_form_factor("SXM");
  run.mutable_environment()->set_gpu_count(1);
  run.mutable_environment()->set_driver_version("580.95.05");
  return result;
}

v1::StoredResult Failed(v1::Reason reason) {
  v1::StoredResult result = Gemm("1024", "bf16", 0);
  v1::CaseResult& run = *result.mutable_case_result();
  run.clear_measurements();
  run.clear_prediction();
  run.set_outcome(v1::CASE_OUTCOME_FAILED);
  run.mutable_failure()->set_reason(reason);
  run.mutable_failure()->set_message("error 0.3, tolerance 0.01");
  return result;
}

TEST(ResultsTableTest, ShowsWhatMatters) {
  EXPECT_EQ(ResultsTable({Gemm("4096", "bf16", 712.34)}, {}),
            "NODE    GPU       BENCHMARK  PARAMETERS       METRIC  MEDIAN  UNIT       ±%  OF SPEC  "
            "DRIVER\n"
            "node-a  H200 SXM  gemm       m=n=k=4096 bf16  tflops   712.3  TFLOP/s  0.50    72.0%  "
            "580.95.05\n");
}

TEST(ResultsTableTest, WhatAllRowsShareIsSaidOnce) {
  EXPECT_EQ(ResultsTable({Gemm("4096", "bf16", 712.34), Gemm("8192", "fp16", 700)}, {}),
            "All on node-a, H200 SXM, driver 580.95.05\n"
            "BENCHMARK  PARAMETERS       METRIC  MEDIAN  UNIT       ±%  OF SPEC\n"
            "gemm       m=n=k=4096 bf16  tflops   712.3  TFLOP/s  0.50    72.0%\n"
            "gemm       m=n=k=8192 fp16  tflops   700.0  TFLOP/s  0.50    72.0%\n");
}

TEST(ResultsTableTest, ParametersThatVaryAreShown) {
  v1::StoredResult zeros = Gemm("4096", "bf16", 800);
  (*zeros.mutable_case_result()->mutable_parameters())["fill"] = "zeros";
  EXPECT_THAT(ResultsTable({Gemm("4096", "bf16", 712), zeros}, {}), HasSubstr("fill=zeros"));
  EXPECT_THAT(ResultsTable({zeros}, {}), Not(HasSubstr("fill")));
}

TEST(ResultsTableTest, OneRowAloneSaysWhatWasMeasured) {
  v1::StoredResult attention = Gemm("4096", "bf16", 600);
  auto& parameters = *attention.mutable_case_result()->mutable_parameters();
  parameters.erase("m");
  parameters.erase("k");
  for (const auto& [name, value] : {std::pair("b", "4"), {"h", "16"}, {"d", "128"}}) {
    parameters[name] = value;
  }
  parameters["variant"] = "flash_mma";
  EXPECT_THAT(ResultsTable({attention}, {}),
              HasSubstr("n=4096 b=4 h=16 d=128 bf16 variant=flash_mma"));
}

TEST(ResultsTableTest, ShapesAndSizesAreWrittenForPeople) {
  v1::StoredResult result = Gemm("512", "bf16", 1);
  auto& parameters = *result.mutable_case_result()->mutable_parameters();
  parameters["k"] = "128";
  parameters["bytes"] = "1073741824";
  EXPECT_THAT(ResultsTable({result}, {}), HasSubstr("m=n=512 k=128 1GiB bf16"));
}

TEST(ResultsTableTest, FailuresAndFlagsAreExplained) {
  v1::StoredResult hot = Gemm("1024", "bf16", 500);
  hot.mutable_case_result()->mutable_conditions()->add_flags("throttled");
  hot.mutable_case_result()->mutable_conditions()->add_flags("angry");
  hot.mutable_case_result()->mutable_measurements(0)->mutable_method()->set_cache("hot");
  v1::StoredResult unsupported = Failed(v1::REASON_UNSUPPORTED);
  unsupported.mutable_case_result()->set_outcome(v1::CASE_OUTCOME_UNSUPPORTED);
  const std::string text = ResultsTable({hot, Failed(v1::REASON_VERIFICATION_FAILED),
                                         Failed(v1::REASON_VERIFICATION_FAILED), unsupported},
                                        {});
  EXPECT_THAT(text, HasSubstr("FAILED"));
  EXPECT_THAT(text, HasSubstr("TAH\n"));
  EXPECT_THAT(text, HasSubstr("A  angry\n"
                              "H  hot_cache: every iteration found its inputs in the cache\n"
                              "T  throttled: heat, power or a fault held the clocks down\n"
                              "[1] VERIFICATION_FAILED: error 0.3, tolerance 0.01\n"
                              "[2] UNSUPPORTED: error 0.3, tolerance 0.01\n"));
  EXPECT_THAT(text, Not(HasSubstr("[3]")));
}

TEST(ResultsTableTest, ShowsHowWellTheModelOfTheOtherSizesFits) {
  v1::StoredResult fitted = Gemm("4096", "bf16", 112);
  EXPECT_THAT(ResultsTable({fitted}, {}), Not(HasSubstr("FIT")));
  fitted.mutable_case_result()->mutable_prediction()->mutable_link_model()->set_error(0.125);
  const std::string text = ResultsTable({fitted, Gemm("8192", "bf16", 112)}, {});
  EXPECT_THAT(text, HasSubstr("  OF SPEC  FIT ±%\n"));
  EXPECT_THAT(text, HasSubstr("    72.0%      12\n"));
}

TEST(ResultsTableTest, TheRegimeIsShownAndASheetFromMemoryMarked) {
  v1::StoredResult result = Gemm("4096", "bf16", 112);
  v1::Prediction& prediction = *result.mutable_case_result()->mutable_prediction();
  prediction.set_regime("compute");
  prediction.set_spec("H200 SXM");
  EXPECT_THAT(ResultsTable({result}, {}), HasSubstr("  REGIME "));
  EXPECT_THAT(ResultsTable({result}, {}), HasSubstr("  compute "));
  EXPECT_THAT(ResultsTable({result}, {}), Not(HasSubstr("recalled_spec")));
  prediction.set_spec("RTX 5090");
  EXPECT_THAT(ResultsTable({result}, {}), HasSubstr("R  recalled_spec: "));
}

TEST(MarksTest, EveryFlagHasALetterAndAMeaning) {
  v1::CaseResult run;
  for (const std::string_view flag : schema::kResultFlags) {
    run.mutable_conditions()->add_flags(std::string(flag));
  }
  Marks marks;
  marks.Flags(run);
  const std::string legend = marks.Legend(0);
  for (const std::string_view flag : schema::kResultFlags) {
    EXPECT_THAT(legend, HasSubstr("  " + std::string(flag) + ": "));
  }
}

TEST(MarksTest, EveryWayToBeTakenForSomethingElse) {
  v1::StoredResult result = Gemm("4096", "bf16", 712);
  v1::CaseResult& run = *result.mutable_case_result();
  v1::Method& method = *run.mutable_measurements(0)->mutable_method();
  method.set_cache("cold");
  method.set_fill("random");
  method.set_timer("events");
  method.set_stop_reason("confidence");
  EXPECT_EQ(Marks().Flags(run), "");
  EXPECT_EQ(Marks().Legend(0), "");
  for (const char* flag : {"throttled", "shared_gpu", "busy_host", "unsettled"}) {
    run.mutable_conditions()->add_flags(flag);
  }
  method.set_cache("hot");
  method.set_fill("zeros");
  method.set_timer("graph");
  run.mutable_measurements(0)->set_ci_high(800);
  run.mutable_provenance()->set_simulated(true);
  Marks marks;
  EXPECT_EQ(marks.Flags(run), "TSBUHZGNM");
  const std::string legend = marks.Legend(0);
  EXPECT_EQ(std::count(legend.begin(), legend.end(), '\n'), 9);
  EXPECT_THAT(legend, HasSubstr("S  shared_gpu: other processes were on the GPU\n"));
  // Flags of a newer runner get letters that no known one has.
  run.mutable_conditions()->add_flags("tsunami");
  run.mutable_conditions()->add_flags("sun");
  EXPECT_EQ(marks.Flags(run), "TSBUAJHZGNM");
}

TEST(MarksTest, NoisyIsWhatHasAWideIntervalWhateverEndedTheTiming) {
  v1::StoredResult result = Gemm("4096", "bf16", 700);
  v1::Measurement& measurement = *result.mutable_case_result()->mutable_measurements(0);
  measurement.mutable_method()->set_stop_reason("noise_stable");
  measurement.set_ci_low(690);
  measurement.set_ci_high(724);
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  measurement.set_ci_high(726);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
  // The time was over, and the median is known well.
  measurement.set_ci_high(701);
  measurement.mutable_method()->set_stop_reason("time_budget");
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  // A count of zero each time is known, and one that varies about it is not.
  measurement.set_median(0);
  measurement.set_ci_low(0);
  measurement.set_ci_high(0);
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  measurement.set_ci_high(2);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
  measurement.set_ci_high(0);
  // The time was over with too few samples to know.
  measurement.set_n(5);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
}

TEST(ResultsTest, BelowSixSamplesThereIsNoInterval) {
  v1::StoredResult result = Gemm("4096", "bf16", 700);
  v1::Measurement& measurement = *result.mutable_case_result()->mutable_measurements(0);
  measurement.set_ci_low(693);
  measurement.set_ci_high(721);
  measurement.set_n(6);
  EXPECT_THAT(ResultsTable({result}, {}), HasSubstr("TFLOP/s  2.00"));
  measurement.set_n(5);
  EXPECT_THAT(ResultsTable({result}, {}), Not(HasSubstr("±%")));
}

TEST(ResultsTableTest, GangsOfDifferentNodesAreToldApart) {
  const auto on = [](const std::vector<std::string>& nodes) {
    v1::StoredResult result = Gemm("4096", "bf16", 700);
    v1::Provenance& provenance = *result.mutable_case_result()->mutable_provenance();
    provenance.mutable_node_names()->Assign(nodes.begin(), nodes.end());
    return result;
  };
  const std::string pairs = ResultsTable({on({"g1", "g2"}), on({"g1", "g3"})}, {});
  EXPECT_THAT(pairs, HasSubstr("g1, g2  "));
  EXPECT_THAT(pairs, HasSubstr("g1, g3  "));
  EXPECT_THAT(pairs, Not(HasSubstr("All on")));
  EXPECT_THAT(ResultsTable({on({"g1", "g2"}), on({"g1", "g2"})}, {}), HasSubstr("All on g1, g2,"));
  EXPECT_THAT(ResultsTable({on({"g1", "g2", "g3"}), on({"g1", "g2", "g3"})}, {}),
              HasSubstr("All on g1 +2,"));
  EXPECT_THAT(ResultsTable({on({"g1", "g2", "g3"}), on({"g1", "g2", "g4"})}, {}),
              Not(HasSubstr("All on")));
}

TEST(ResultsTableTest, NoLineIsWiderThanTheTerminal) {
  std::vector<v1::StoredResult> results = {Gemm("4096", "bf16", 712), Failed(v1::REASON_TIMEOUT)};
  results[0].mutable_case_result()->mutable_provenance()->set_node_names(0, std::string(70, 'n'));
  for (int width = 60; width <= 200; width += 20) {
    const std::string text = ResultsTable(results, {width, false});
    for (size_t start = 0; start < text.size();) {
      const size_t end = text.find('\n', start);
      EXPECT_LE(DisplayWidth(text.substr(start, end - start)), width) << text;
      start = end + 1;
    }
  }
}

}  // namespace
}  // namespace assay::cli
