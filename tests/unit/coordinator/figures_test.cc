// Tests what figures and large tables show: columns, facets, rooflines, pairs and progress.
#include "coordinator/core/figures/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "storage/fakes/fake_stores.h"
#include "tests/storage_records.h"
#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FiguresTest : public FleetFixture {
 protected:
  const Figures& figures() const { return coordinator->figures(); }

  // Stores results as one campaign with a job for each, and returns the campaign's id.
  std::string Store(const std::vector<v1::CaseResult>& all) {
    storage::ImportedCampaign imported;
    imported.campaign = storage::MakeCampaign({}, "nightly");
    for (v1::CaseResult result : all) {
      storage::NewJob& job = imported.campaign.jobs.emplace_back(storage::MakeJob({"a"}));
      job.benchmark = result.benchmark();
      job.world_size = std::max(1, result.environment().gpu_count());
      if (result.provenance().node_names_size() == 2) job.world_size = 2;
      result.set_job_id(job.job_id);
      result.set_epoch(1);
      imported.results.push_back(result);
    }
    const auto outcome = results.Import(imported);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return imported.campaign.campaign_id;
  }

  static v1::CaseResult Measured(const std::string& benchmark, const std::string& metric,
                                 const std::string& unit, double median) {
    v1::CaseResult result;
    result.set_benchmark(benchmark);
    result.set_benchmark_version(1);
    result.set_outcome(v1::CASE_OUTCOME_OK);
    result.mutable_verification()->set_passed(true);
    result.mutable_environment()->set_gpu_model("H200");
    result.mutable_environment()->set_gpu_form_factor("SXM");
    result.mutable_environment()->set_gpu_count(1);
    result.mutable_provenance()->add_node_names("a");
    result.mutable_provenance()->add_gpu_uuids("GPU-1");
    v1::Measurement& measured = *result.add_measurements();
    measured.set_metric(metric);
    measured.set_unit(unit);
    measured.set_median(median);
    measured.set_n(100);
    measured.set_ci_low(median * 0.98);
    measured.set_ci_high(median * 1.01);
    measured.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measured.mutable_method()->set_cache("cold");
    return result;
  }

  // Returns a result with a prediction by the sheet of an H200, at this peak and intensity.
  static v1::CaseResult Predicted(const std::string& dtype, double peak, const std::string& unit,
                                  double median) {
    constexpr double kFlops = 1e12;
    constexpr double kIntensity = 100;
    v1::CaseResult result = Measured("gemm", "value", unit, median);
    (*result.mutable_parameters())["dtype"] = dtype;
    v1::Prediction& prediction = *result.mutable_prediction();
    prediction.set_flops(kFlops);
    prediction.set_bytes(kFlops / kIntensity);
    prediction.set_arithmetic_intensity(kIntensity);
    prediction.set_spec("H200 SXM");
    prediction.set_ridge_point(peak / kH200Memory);
    prediction.set_regime("compute");
    return result;
  }

  static constexpr double kH200Memory = 4.8e12;
  static constexpr double kH200Bf16 = 989e12;
};

std::vector<std::string> TextsOf(const v1::ResultColumn& column) {
  std::vector<std::string> texts;
  for (const int index : column.indices()) {
    texts.push_back(index < 0 ? "-" : column.texts(index));
  }
  return texts;
}

TEST_F(FiguresTest, Columns_HaveOneValuePerResult) {
  v1::CaseResult first = Measured("gemm", "tflops", "TFLOP/s", 700);
  first.mutable_end_time()->set_seconds(1'767'225'600);
  (*first.mutable_parameters())["m"] = "8";
  v1::CaseResult second = Measured("all_reduce", "bus_bandwidth", "GB/s", 300);
  second.mutable_provenance()->add_node_names("b");
  second.mutable_prediction()->set_efficiency_spec(0.5);
  Store({first, second});
  v1::TabulateResultsRequest request;
  for (const char* field : {"median", "end_time", "efficiency_spec", "benchmark", "node", "primary",
                            "parameters.m", "verified"}) {
    request.add_fields(field);
  }
  request.set_order_by("median desc");
  const auto table = figures().Tabulate(request);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->row_count(), 2);
  EXPECT_THAT(table->columns(0).numbers(), ElementsAre(700, 300));
  EXPECT_EQ(table->columns(0).unit(), "");
  EXPECT_EQ(table->columns(1).numbers(0), 1'767'225'600);
  EXPECT_TRUE(std::isnan(table->columns(1).numbers(1)));
  EXPECT_TRUE(std::isnan(table->columns(2).numbers(0)));
  EXPECT_EQ(table->columns(2).numbers(1), 0.5);
  EXPECT_THAT(TextsOf(table->columns(3)), ElementsAre("gemm", "all_reduce"));
  EXPECT_THAT(TextsOf(table->columns(4)), ElementsAre("a", "a+b"));
  EXPECT_THAT(TextsOf(table->columns(5)), ElementsAre("true", "true"));
  EXPECT_EQ(table->columns(5).texts_size(), 1);
  EXPECT_THAT(TextsOf(table->columns(6)), ElementsAre("8", "-"));
  EXPECT_THAT(table->columns(3).numbers(), IsEmpty());
  request.set_limit(1);
  const auto one = figures().Tabulate(request);
  EXPECT_EQ(one->row_count(), 1);
  EXPECT_EQ(one->remaining_count(), 1);
}

TEST_F(FiguresTest, ColumnsThatDoNotExist_AreRefused) {
  v1::TabulateResultsRequest request;
  EXPECT_EQ(figures().Tabulate(request).status().code(), Code::kInvalidArgument);
  request.add_fields("drivr");
  const Status unknown = figures().Tabulate(request).status();
  EXPECT_EQ(unknown.reason(), Reason::kUnknownField);
  EXPECT_THAT(unknown.hint(), HasSubstr("driver"));
  request.set_fields(0, "samples");
  EXPECT_EQ(figures().Tabulate(request).status().reason(), Reason::kUnknownField);
  request.set_fields(0, "median");
  for (const int limit : {-1, 10'001}) {
    request.set_limit(limit);
    EXPECT_EQ(figures().Tabulate(request).status().code(), Code::kInvalidArgument) << limit;
  }
  request.clear_limit();
  while (request.fields_size() < 41) request.add_fields("median");
  EXPECT_EQ(figures().Tabulate(request).status().code(), Code::kInvalidArgument);
}

TEST_F(FiguresTest, Facets_ListFieldsAndTheValuesAskedFor) {
  v1::CaseResult result = Measured("gemm", "tflops", "TFLOP/s", 700);
  (*result.mutable_parameters())["dtype"] = "bf16";
  Store({result});
  v1::ListFacetsRequest request;
  for (const char* field : {"gpu.model", "outcome", "median", "parameters.dtype"}) {
    request.add_fields(field);
  }
  const auto facets = figures().ListFacets(request);
  ASSERT_TRUE(facets.ok()) << facets.status();
  const auto facet = [&](const std::string& name) {
    for (const v1::Facet& one : facets->facets()) {
      if (one.field() == name) return one;
    }
    ADD_FAILURE() << name;
    return v1::Facet();
  };
  EXPECT_THAT(facet("gpu.model").values(), ElementsAre("H200"));
  EXPECT_EQ(facet("gpu.model").type(), "text");
  EXPECT_THAT(facet("outcome").values(), ElementsAre("failed", "ok", "unsupported"));
  EXPECT_THAT(facet("median").values(), IsEmpty());
  EXPECT_EQ(facet("median").type(), "number");
  EXPECT_EQ(facet("median").unit(), "");
  EXPECT_EQ(facet("time").type(), "time");
  EXPECT_THAT(facet("parameters.dtype").values(), ElementsAre("bf16"));
  EXPECT_THAT(facet("driver").values(), IsEmpty()) << "not asked for";
  request.set_fields(0, "gpu.modl");
  EXPECT_EQ(figures().ListFacets(request).status().reason(), Reason::kUnknownField);
}

const v1::Roof* FindRoof(const v1::Roofline& roofline, const std::string& name,
                         const std::string& basis) {
  for (const v1::Roof& roof : roofline.roofs()) {
    if (roof.name() == name && roof.basis() == basis) return &roof;
  }
  return nullptr;
}

double ValueOf(const v1::Roof* roof) { return roof == nullptr ? 0 : roof->value(); }

TEST_F(FiguresTest, Roofline_PlacesResultsOfAnyMetric) {
  Store({Predicted("bf16", kH200Bf16, "TFLOP/s", 700), Predicted("bf16", kH200Bf16, "s", 0.002),
         Predicted("bf16", kH200Bf16, "GB/s", 4000), Predicted("bf16", kH200Bf16, "loads", 4),
         Measured("all_reduce", "bus_bandwidth", "GB/s", 300)});
  const auto answer = figures().GetRoofline({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->rooflines_size(), 1);
  const v1::Roofline& roofline = answer->rooflines(0);
  EXPECT_EQ(roofline.gpu_model(), "H200");
  EXPECT_EQ(roofline.gpu_form_factor(), "SXM");
  EXPECT_EQ(roofline.spec(), "H200 SXM");
  EXPECT_EQ(roofline.spec_certainty(), "sheet");
  ASSERT_EQ(roofline.points_size(), 3) << "newest first";
  EXPECT_DOUBLE_EQ(roofline.points(0).flops_per_second(), 4e14);
  EXPECT_DOUBLE_EQ(roofline.points(1).flops_per_second(), 5e14);
  EXPECT_DOUBLE_EQ(roofline.points(2).flops_per_second(), 7e14);
  EXPECT_DOUBLE_EQ(roofline.points(2).flops_per_second_low(), 0.98 * 7e14);
  // The longest time is the lowest rate.
  EXPECT_DOUBLE_EQ(roofline.points(1).flops_per_second_low(), 5e14 / 1.01);
  EXPECT_DOUBLE_EQ(roofline.points(1).flops_per_second_high(), 5e14 / 0.98);
  EXPECT_EQ(roofline.points(2).compute_roof(), "bf16");
  EXPECT_EQ(roofline.points(2).arithmetic_intensity(), 100);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "bf16", "sheet")), kH200Bf16);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "HBM", "sheet")), kH200Memory);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "bf16", "measured")), 7e14);
  EXPECT_EQ(FindRoof(roofline, "bf16", "clock"), nullptr) << "no clock is known";
}

TEST_F(FiguresTest, ComputeRoof_FollowsThePredictionAndTheType) {
  constexpr double kFp8 = 1979e12;
  constexpr double kFp32 = 67e12;
  v1::CaseResult no_sheet = Predicted("fp16", kH200Bf16, "TFLOP/s", 1);
  no_sheet.mutable_prediction()->clear_spec();
  Store({Predicted("fp16", kH200Bf16, "TFLOP/s", 1), Predicted("fp8_e4m3", kFp8, "TFLOP/s", 1),
         Predicted("int8", kFp8, "TFLOP/s", 1), Predicted("fp32", kFp32, "TFLOP/s", 1),
         Predicted("fp64", kFp32, "TFLOP/s", 1), no_sheet});
  const auto answer = figures().GetRoofline({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::vector<std::string> roofs;
  for (const v1::RooflinePoint& point : answer->rooflines(0).points()) {
    roofs.push_back(point.compute_roof());
  }
  EXPECT_THAT(roofs, ElementsAre("bf16", "fp64_tensor", "fp32", "int8", "fp8", "bf16"));
}

TEST_F(FiguresTest, MeasuredRoofs_AreOfResultsWithoutDoubts) {
  v1::CaseResult good = Predicted("bf16", kH200Bf16, "TFLOP/s", 700);
  good.mutable_conditions()->set_sm_clock_mhz(915);  // Half of what the sheet's peak assumes.
  v1::CaseResult flagged = Predicted("bf16", kH200Bf16, "TFLOP/s", 900);
  flagged.mutable_conditions()->add_flags("above_ceiling");
  v1::CaseResult wrong = Predicted("bf16", kH200Bf16, "TFLOP/s", 950);
  wrong.mutable_verification()->set_passed(false);
  v1::CaseResult other_gpu = Measured("memory_bandwidth", "bandwidth", "GB/s", 5000);
  other_gpu.mutable_environment()->set_gpu_form_factor("PCIe");
  v1::CaseResult hot = Measured("memory_bandwidth", "bandwidth", "GB/s", 9000);
  hot.mutable_measurements(0)->mutable_method()->set_cache("hot");
  v1::CaseResult cache = Measured("cache_bandwidth", "bandwidth", "GB/s", 12000);
  (*cache.mutable_parameters())["level"] = "l2";
  Store({good, flagged, wrong, other_gpu, hot, cache,
         Measured("memory_bandwidth", "bandwidth", "GB/s", 4200),
         Measured("memory_bandwidth", "bandwidth", "GB/s", 4100)});
  const auto answer = figures().GetRoofline({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->rooflines_size(), 1);
  const v1::Roofline& roofline = answer->rooflines(0);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "bf16", "measured")), 7e14);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "HBM", "measured")), 4.2e12);
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(roofline, "L2", "measured")), 1.2e13);
  EXPECT_NEAR(ValueOf(FindRoof(roofline, "bf16", "clock")), kH200Bf16 / 2, 0.01 * kH200Bf16);
  const v1::Roof* hbm = FindRoof(roofline, "HBM", "measured");
  ASSERT_NE(hbm, nullptr);
  EXPECT_TRUE(hbm->is_bandwidth());
  EXPECT_EQ(results.Get(hbm->result_id())->case_result().measurements(0).median(), 4200);
}

TEST_F(FiguresTest, Roofline_LimitsPointsAndKeepsModelsApart) {
  v1::CaseResult other = Predicted("bf16", kH200Bf16, "TFLOP/s", 1);
  other.mutable_environment()->set_gpu_model("B200");
  Store({Predicted("bf16", kH200Bf16, "TFLOP/s", 1), other,
         Predicted("bf16", kH200Bf16, "TFLOP/s", 2), Predicted("bf16", kH200Bf16, "TFLOP/s", 3)});
  v1::GetRooflineRequest request;
  const auto all = figures().GetRoofline(request);
  ASSERT_EQ(all->rooflines_size(), 2);
  EXPECT_EQ(all->rooflines(0).gpu_model(), "H200") << "most points first";
  request.set_limit(1);
  const auto one = figures().GetRoofline(request);
  EXPECT_EQ(one->rooflines(0).points_size(), 1);
  EXPECT_EQ(one->rooflines(0).points(0).flops_per_second(), 3e12);
  EXPECT_EQ(one->remaining_count(), 3);
  request.set_limit(10'001);
  EXPECT_EQ(figures().GetRoofline(request).status().code(), Code::kInvalidArgument);
  request.clear_limit();
  request.set_filter("nope = 1");
  EXPECT_EQ(figures().GetRoofline(request).status().reason(), Reason::kUnknownField);
}

TEST_F(FiguresTest, Cpus_HaveARooflineOnlyWithAMeasuredRoof) {
  const auto of_cpu = [](v1::CaseResult result, const std::string& model) {
    result.mutable_environment()->clear_gpu_model();
    result.mutable_environment()->clear_gpu_form_factor();
    result.mutable_environment()->set_gpu_count(0);
    result.mutable_environment()->set_cpu_model(model);
    result.mutable_prediction()->clear_spec();
    return result;
  };
  v1::CaseResult doubtful = of_cpu(Predicted("fp32", 1, "TFLOP/s", 3), "EPYC");
  doubtful.mutable_conditions()->add_flags("busy_host");
  Store({of_cpu(Predicted("fp32", 1, "TFLOP/s", 2), "Xeon"), doubtful});
  const auto answer = figures().GetRoofline({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->rooflines_size(), 1);
  EXPECT_EQ(answer->rooflines(0).gpu_model(), "");
  EXPECT_DOUBLE_EQ(ValueOf(FindRoof(answer->rooflines(0), "fp32", "measured")), 2e12);
}

// A campaign that measured every pair of five nodes.
class PairFiguresTest : public FiguresTest {
 protected:
  static v1::CaseResult Between(const std::string& a, const std::string& b, double median) {
    v1::CaseResult result = Measured("tcp_bandwidth", "bandwidth", "GB/s", median);
    result.mutable_environment()->Clear();
    result.mutable_provenance()->Clear();
    result.mutable_provenance()->add_node_names(a);
    result.mutable_provenance()->add_node_names(b);
    return result;
  }

  static std::vector<v1::CaseResult> EveryPair(const std::string& slow) {
    std::vector<v1::CaseResult> all;
    const std::string names = "abcde";
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t j = i + 1; j < names.size(); ++j) {
        const std::string a(1, names[i]);
        const std::string b(1, names[j]);
        all.push_back(Between(a, b, a == slow || b == slow ? 1 : 2));
      }
    }
    return all;
  }
};

TEST_F(PairFiguresTest, BadNode_IsFoundWithAdvice) {
  v1::GetPairsRequest request;
  request.set_campaign(Store(EveryPair("c")));
  const auto pairs = figures().GetPairs(request);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_THAT(pairs->ends(), ElementsAre("a", "b", "c", "d", "e"));
  ASSERT_EQ(pairs->matrices_size(), 1);
  const v1::PairMatrix& matrix = pairs->matrices(0);
  EXPECT_EQ(matrix.benchmark(), "tcp_bandwidth");
  EXPECT_FALSE(matrix.between_gpus());
  ASSERT_EQ(matrix.cells_size(), 10);
  for (const v1::PairCell& cell : matrix.cells()) {
    const bool of_c = cell.from() == 2 || cell.to() == 2;
    EXPECT_EQ(cell.value(), of_c ? 1 : 2);
    EXPECT_EQ(cell.verdict(), of_c ? v1::PAIR_CELL_VERDICT_BAD_END : v1::PAIR_CELL_VERDICT_OK);
  }
  EXPECT_EQ(pairs->verdict(), v1::PAIRS_VERDICT_BAD);
  ASSERT_EQ(pairs->findings_size(), 1);
  EXPECT_THAT(pairs->findings(0).ends(), ElementsAre(2));
  EXPECT_TRUE(pairs->findings(0).certain());
  EXPECT_FALSE(pairs->findings(0).text().empty());
  EXPECT_FALSE(pairs->findings(0).advice().empty());
  request.set_campaign(Store(EveryPair("")));
  EXPECT_EQ(figures().GetPairs(request)->verdict(), v1::PAIRS_VERDICT_CLEAR);
}

TEST_F(PairFiguresTest, GapsAndBadRequests_AreNamed) {
  std::vector<v1::CaseResult> all = EveryPair("");
  all.pop_back();
  v1::GetPairsRequest request;
  request.set_campaign(Store(all));
  const auto pairs = figures().GetPairs(request);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_EQ(pairs->verdict(), v1::PAIRS_VERDICT_UNDECIDED);
  const v1::PairCell& missing = pairs->matrices(0).cells(9);
  EXPECT_FALSE(missing.has_value());
  EXPECT_EQ(missing.verdict(), v1::PAIR_CELL_VERDICT_MISSING);
  request.set_metric("nope");
  EXPECT_EQ(figures().GetPairs(request).status().reason(), Reason::kUnknownMetric);
  request.clear_metric();
  request.set_threshold(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(figures().GetPairs(request).status().code(), Code::kInvalidArgument);
  request.set_campaign("nope");
  request.clear_threshold();
  EXPECT_EQ(figures().GetPairs(request).status().code(), Code::kNotFound);
  request.set_campaign(Store({Measured("gemm", "tflops", "TFLOP/s", 700)}));
  EXPECT_EQ(figures().GetPairs(request)->verdict(), v1::PAIRS_VERDICT_UNDECIDED);
  EXPECT_EQ(figures().GetPairs(request)->matrices_size(), 0);
}

TEST_F(PairFiguresTest, PairsOfGpusOfANode_HaveTheirLinks) {
  v1::Node node = MakeFleetNode("a", '1', 4);
  v1::NodeInventory& inventory = *node.mutable_description()->mutable_inventory();
  std::vector<v1::CaseResult> all;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      v1::GpuLink& link = *inventory.add_gpu_links();
      link.set_gpu_a(j);
      link.set_gpu_b(i);
      link.set_kind(i == 0 && j == 1 ? "SYS" : "NV18");
      v1::CaseResult result =
          Measured("peer_transfer", "bandwidth", "GB/s", i == 0 && j == 1 ? 50 : 400);
      result.mutable_provenance()->clear_gpu_uuids();
      for (const v1::GpuInventory& gpu : inventory.gpus()) {
        result.mutable_provenance()->add_gpu_uuids(gpu.uuid());
      }
      result.mutable_environment()->set_gpu_count(4);
      (*result.mutable_parameters())["from"] = std::to_string(i);
      (*result.mutable_parameters())["to"] = std::to_string(j);
      all.push_back(result);
    }
  }
  Attach(node);
  v1::GetPairsRequest request;
  request.set_campaign(Store(all));
  const auto pairs = figures().GetPairs(request);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_THAT(pairs->ends(), ElementsAre("a GPU 0", "a GPU 1", "a GPU 2", "a GPU 3"));
  ASSERT_EQ(pairs->matrices_size(), 1);
  EXPECT_TRUE(pairs->matrices(0).between_gpus());
  ASSERT_EQ(pairs->matrices(0).cells_size(), 6);
  EXPECT_EQ(pairs->matrices(0).cells(0).link(), "SYS");
  EXPECT_EQ(pairs->matrices(0).cells(1).link(), "NV18");
  EXPECT_EQ(pairs->matrices(0).cells(0).verdict(), v1::PAIR_CELL_VERDICT_BAD_LINK);
  ASSERT_EQ(pairs->findings_size(), 1);
  EXPECT_THAT(pairs->findings(0).ends(), ElementsAre(0, 1));
  EXPECT_EQ(pairs->verdict(), v1::PAIRS_VERDICT_BAD);
}

TEST_F(FiguresTest, Progress_CountsByBenchmarkAndPlace) {
  const auto a = Attach(MakeFleetNode("a", '1', 1));
  const auto b = Attach(MakeFleetNode("b", '2', 1));
  const v1::Campaign campaign = Submit(MakeSpec("gemm"));
  const v1::JobSpec of_a = AssignedTo(a);
  const v1::JobSpec of_b = AssignedTo(b);
  v1::AgentMessage state;
  v1::RunningJob& running = *state.mutable_state()->add_running_jobs();
  running.set_job_id(of_a.job_id());
  running.set_epoch(of_a.epoch());
  running.set_phase("measure");
  Say(a, state);
  auto progress = figures().GetProgress(campaign.campaign_id());
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_THAT(progress->places(), ElementsAre("a", "b"));
  ASSERT_EQ(progress->benchmarks_size(), 1);
  EXPECT_EQ(progress->benchmarks(0).benchmark(), "gemm");
  ASSERT_EQ(progress->benchmarks(0).places_size(), 2);
  EXPECT_EQ(progress->benchmarks(0).places(0).jobs().running(), 1);
  ASSERT_EQ(progress->running_size(), 2);
  for (const v1::RunningJobProgress& job : progress->running()) {
    EXPECT_EQ(job.phase(), job.job_id() == of_a.job_id() ? "measure" : "");
  }
  Complete(a, of_a);
  SayFinished(b, of_b, v1::REASON_INVALID_ARGUMENT);
  progress = figures().GetProgress(campaign.campaign_id());
  EXPECT_EQ(progress->benchmarks(0).places(0).jobs().succeeded(), 1);
  EXPECT_GT(progress->benchmarks(0).places(0).cases_done(), 0);
  EXPECT_EQ(progress->benchmarks(0).places(0).cases_done(),
            progress->benchmarks(0).places(0).case_count());
  EXPECT_EQ(progress->running_size(), 0);
  ASSERT_EQ(progress->failures_size(), 1);
  EXPECT_EQ(progress->failures(0).job_count(), 1);
  EXPECT_EQ(progress->failures(0).failure().reason(), v1::REASON_INVALID_ARGUMENT);
  EXPECT_THAT(progress->failures(0).node_names(), ElementsAre("b"));
  EXPECT_EQ(figures().GetProgress("nope").status().code(), Code::kNotFound);
}

TEST_F(FiguresTest, Progress_BoundsPlaces) {
  storage::NewCampaign campaign = storage::MakeCampaign({}, "wide");
  constexpr int kPlaces = 1200;
  for (int i = 0; i < kPlaces; ++i) {
    campaign.jobs.push_back(storage::MakeJob({"node-" + std::to_string(i)}));
    campaign.jobs.back().benchmark_index = 0;
  }
  campaign.jobs.push_back(storage::MakeJob({"x", "y"}, 1, 2));
  campaign.jobs.back().benchmark_index = 1;
  campaign.jobs.push_back(storage::MakeJob({"x", "y", "z"}));
  campaign.jobs.back().benchmark_index = 2;
  ASSERT_TRUE(jobs.CreateCampaign(campaign).ok());
  const auto progress = figures().GetProgress("wide");
  ASSERT_TRUE(progress.ok()) << progress.status();
  ASSERT_EQ(progress->places_size(), 1000);
  EXPECT_EQ(progress->places(999), "others");
  ASSERT_EQ(progress->benchmarks_size(), 3);
  int queued = 0;
  for (const v1::PlaceProgress& place : progress->benchmarks(0).places()) {
    queued += place.jobs().queued();
  }
  EXPECT_EQ(queued, kPlaces);
  const auto place_of = [&](int benchmark) {
    return progress->places(progress->benchmarks(benchmark).places(0).place());
  };
  EXPECT_EQ(place_of(1), "others") << "x + y comes last";
  EXPECT_EQ(place_of(2), "any of 3");
}

}  // namespace
}  // namespace assay::coordinator
