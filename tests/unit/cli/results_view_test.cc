#include "cli/views/results_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/views/result_marks.h"
#include "cli/views/result_text.h"
#include "cli/views/series_check.h"
#include "cli/views/table.h"
#include "tests/wording.h"
#include "wire/result_flags.h"

namespace assay::cli {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

v1::StoredResult Gemm(const std::string& m, const std::string& dtype, double tflops) {
  v1::StoredResult result;
  result.set_result_id("r-" + m);
  result.set_series_id("s-" + m + dtype);
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

TEST(ResultsTable, OneResult_ShowsItsNodeAndDriver) {
  EXPECT_WORDING("views/results-one", ResultsTable({Gemm("4096", "bf16", 712.34)}, {}));
}

TEST(ResultsTable, ValuesThatAllRowsShare_AreShownOnce) {
  EXPECT_WORDING("views/results-shared",
                 ResultsTable({Gemm("4096", "bf16", 712.34), Gemm("8192", "fp16", 700)}, {}));
}

TEST(ResultsTable, MedianThatMovedInItsSeries_IsMarked_HoweverNarrowItsInterval) {
  const auto flags_of = [](const std::vector<double>& medians) {
    std::vector<v1::StoredResult> results;
    for (const double median : medians) {
      results.push_back(Gemm("4096", "bf16", median));
      v1::Measurement& measured = *results.back().mutable_case_result()->mutable_measurements(0);
      measured.set_ci_low(median * 0.999);
      measured.set_ci_high(median * 1.001);
    }
    // Another series is no reason.
    results.push_back(Gemm("8192", "bf16", 100));
    const SeriesMedians series(results);
    std::vector<bool> off;
    for (const v1::StoredResult& result : results) off.push_back(series.IsOff(result));
    return off;
  };
  EXPECT_EQ(flags_of({700, 701, 650, 699}), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(flags_of({700, 710, 690}), (std::vector<bool>{false, false, false, false}));
  // Nothing says which one of two results moved.
  EXPECT_EQ(flags_of({700, 650}), (std::vector<bool>{true, true, false}));
  const std::string table =
      ResultsTable({Gemm("4096", "bf16", 700), Gemm("4096", "bf16", 650)}, {});
  EXPECT_TRUE(Contains(table, "O  off_series: ")) << table;
}

TEST(ResultsTable, MedianWithinItsOwnInterval_IsNotOffItsSeries) {
  std::vector<v1::StoredResult> results = {Gemm("4096", "bf16", 700), Gemm("4096", "bf16", 701),
                                           Gemm("4096", "bf16", 650)};
  v1::Measurement& wide = *results[2].mutable_case_result()->mutable_measurements(0);
  wide.set_ci_low(590);
  wide.set_ci_high(710);
  EXPECT_FALSE(SeriesMedians(results).IsOff(results[2]));
  for (v1::StoredResult& result : results) {
    result.mutable_case_result()->mutable_measurements(0)->set_unit("segments");
  }
  EXPECT_FALSE(SeriesMedians(results).IsOff(results[0]));
}

TEST(ParametersText, ShowsParametersThatVary) {
  v1::StoredResult zeros = Gemm("4096", "bf16", 800);
  (*zeros.mutable_case_result()->mutable_parameters())["fill"] = "zeros";
  const auto varying = FindVarying({Gemm("4096", "bf16", 712), zeros});
  EXPECT_EQ(varying.at("gemm"), std::set<std::string>{"fill"});
  EXPECT_EQ(ParametersText(zeros.case_result(), varying.at("gemm")), "m=n=k=4096 fill=zeros bf16");
  EXPECT_EQ(ParametersText(zeros.case_result()), "m=n=k=4096 bf16");
}

TEST(ParametersText, ShowsShapesAndSizesInShort) {
  v1::StoredResult result = Gemm("512", "bf16", 1);
  auto& parameters = *result.mutable_case_result()->mutable_parameters();
  parameters["k"] = "128";
  parameters["bytes"] = "1073741824";
  EXPECT_EQ(ParametersText(result.case_result()), "m=n=512 k=128 1GiB bf16");
  parameters.clear();
  for (const auto& [name, value] :
       {std::pair("n", "4096"), {"b", "4"}, {"h", "16"}, {"d", "128"}, {"variant", "flash_mma"}}) {
    parameters[name] = value;
  }
  EXPECT_EQ(ParametersText(result.case_result()), "n=4096 b=4 h=16 d=128 variant=flash_mma");
}

TEST(ResultsTable, FailuresFlagsAndSheets_AreExplained) {
  v1::StoredResult hot = Gemm("1024", "bf16", 500);
  v1::CaseResult& run = *hot.mutable_case_result();
  run.mutable_conditions()->add_flags("throttled");
  run.mutable_conditions()->add_flags("angry");
  run.mutable_measurements(0)->mutable_method()->set_cache("hot");
  run.mutable_prediction()->set_regime("compute");
  run.mutable_prediction()->set_spec("RTX 5090");
  run.mutable_prediction()->mutable_link_model()->set_error(0.125);
  v1::StoredResult unsupported = Failed(v1::REASON_UNSUPPORTED);
  unsupported.mutable_case_result()->set_outcome(v1::CASE_OUTCOME_UNSUPPORTED);
  const std::vector<v1::StoredResult> results = {hot, Failed(v1::REASON_VERIFICATION_FAILED),
                                                 Failed(v1::REASON_VERIFICATION_FAILED),
                                                 unsupported};
  EXPECT_WORDING("views/results-explained", ResultsTable(results, {}));
  EXPECT_WORDING("views/results-80-columns", ResultsTable(results, {80, false}));
}

TEST(Marks, EveryFlagHasALetterAndAMeaning) {
  v1::CaseResult run;
  for (const std::string_view flag : schema::kResultFlags) {
    run.mutable_conditions()->add_flags(std::string(flag));
  }
  Marks marks;
  marks.Flags(run);
  const std::string legend = marks.Legend(0);
  for (const std::string_view flag : schema::kResultFlags) {
    EXPECT_NE(legend.find("  " + std::string(flag) + ": "), std::string::npos) << flag;
  }
}

TEST(Marks, LettersOfKnownFlagsAreReserved) {
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
  // Unknown flags, as from a newer runner, get letters that no known flag has.
  run.mutable_conditions()->add_flags("tsunami");
  run.mutable_conditions()->add_flags("sun");
  EXPECT_EQ(marks.Flags(run), "TSBUAJHZGNM");
}

TEST(Marks, WideInterval_IsNoisyRegardlessOfTheStopReason) {
  v1::StoredResult result = Gemm("4096", "bf16", 700);
  v1::Measurement& measurement = *result.mutable_case_result()->mutable_measurements(0);
  measurement.mutable_method()->set_stop_reason("noise_stable");
  measurement.set_ci_low(690);
  measurement.set_ci_high(724);
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  measurement.set_ci_high(726);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
  // The time ran out, but the median is known well.
  measurement.set_ci_high(701);
  measurement.mutable_method()->set_stop_reason("time_budget");
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  // A median of zero is known well only if its interval is zero too.
  measurement.set_median(0);
  measurement.set_ci_low(0);
  measurement.set_ci_high(0);
  EXPECT_EQ(Marks().Flags(result.case_result()), "");
  measurement.set_ci_high(2);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
  measurement.set_ci_high(0);
  // The time ran out with too few samples for an interval.
  measurement.set_n(5);
  EXPECT_EQ(Marks().Flags(result.case_result()), "N");
}

TEST(ResultsTable, FewerThanSixSamples_ShowNoInterval) {
  v1::StoredResult result = Gemm("4096", "bf16", 700);
  v1::Measurement& measurement = *result.mutable_case_result()->mutable_measurements(0);
  measurement.set_n(6);
  EXPECT_TRUE(Contains(ResultsTable({result}, {}), "±%"));
  measurement.set_n(5);
  EXPECT_FALSE(Contains(ResultsTable({result}, {}), "±%"));
}

TEST(ResultsTable, GangsOnDifferentNodes_AreNotMerged) {
  const auto on = [](const std::vector<std::string>& nodes) {
    v1::StoredResult result = Gemm("4096", "bf16", 700);
    v1::Provenance& provenance = *result.mutable_case_result()->mutable_provenance();
    provenance.mutable_node_names()->Assign(nodes.begin(), nodes.end());
    return result;
  };
  const auto merged = [&](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return Contains(ResultsTable({on(a), on(b)}, {}), "All on");
  };
  EXPECT_TRUE(merged({"g1", "g2"}, {"g1", "g2"}));
  EXPECT_FALSE(merged({"g1", "g2"}, {"g1", "g3"}));
  EXPECT_TRUE(merged({"g1", "g2", "g3"}, {"g1", "g2", "g3"}));
  EXPECT_FALSE(merged({"g1", "g2", "g3"}, {"g1", "g2", "g4"}));
}

TEST(ResultsTable, NoLineIsWiderThanTheTerminal) {
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

v1::StoredResult Profiled(int case_index, const std::string& metric = "tflops") {
  v1::StoredResult result = Gemm(std::to_string(1024 << case_index), "bf16", 700);
  v1::CaseResult& run = *result.mutable_case_result();
  run.set_job_id("j");
  run.set_case_index(case_index);
  run.mutable_measurements(0)->set_metric(metric);
  run.add_kernels("nvjet_sm90_tst_320x128");
  run.add_kernels("splitK<float>");
  return result;
}

v1::StoredResult Counted(int case_index, const std::string& metric = "tflops") {
  v1::StoredResult result = Profiled(case_index, metric);
  v1::Counters& counters = *result.mutable_case_result()->mutable_counters();
  counters.set_source("cupti");
  counters.set_dram_read_bytes(1.25e9);
  counters.set_tensor_pipe_active(0.934);
  counters.set_sm_throughput(0);
  return result;
}

std::string Counters(const std::vector<v1::StoredResult>& results) {
  Marks marks;
  const std::string table = CountersTable(results, {}, {}, marks);
  return table + marks.Legend(0);
}

TEST(CountersTable, CasesWithCounters_AreShownOnceWithTheirKernels) {
  EXPECT_WORDING("views/counters", Counters({Counted(0), Counted(0, "time"), Profiled(1)}));
}

TEST(CountersTable, RemarksOnSourcesAndKernels_BecomeNotes) {
  v1::StoredResult result = Counted(0);
  v1::CaseResult& run = *result.mutable_case_result();
  run.mutable_counters()->set_source("nvml_gpm");
  run.mutable_counters()->set_reason("cupti: only for administrators");
  run.mutable_counters()->clear_dram_read_bytes();
  run.clear_kernels();
  run.set_kernels_reason("cannot load libcupti.so.13");
  EXPECT_WORDING("views/counters-notes", Counters({result}));
}

TEST(CountersTable, WithoutCounters_OnlyASingleCaseIsShown) {
  EXPECT_EQ(Counters({Profiled(0), Profiled(1)}), "");
  EXPECT_NE(Counters({Profiled(0), Profiled(0, "time")}), "");
  v1::StoredResult without = Profiled(0);
  without.mutable_case_result()->clear_kernels();
  EXPECT_EQ(Counters({without}), "");
  EXPECT_EQ(Counters({}), "");
}

}  // namespace
}  // namespace assay::cli
