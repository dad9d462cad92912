#include "tests/unit/cli/analysis_answers.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "cli/views/table.h"

namespace assay::cli {
namespace {

v1::CaseComparison& AddCase(v1::CompareResultsResponse& comparison,
                            const v1::CaseIdentity& identity, v1::ComparisonVerdict verdict,
                            double ratio, double interval) {
  v1::CaseComparison& one = *comparison.add_cases();
  *one.mutable_case_() = identity;
  one.set_verdict(verdict);
  one.set_ratio(ratio);
  one.set_ratio_low(ratio - interval);
  one.set_ratio_high(ratio + interval);
  one.set_median_a(712.3);
  one.set_median_b(712.3 * ratio);
  one.set_places_a(8);
  one.set_places_b(8);
  one.set_common_places(8);
  one.set_runs_a(40);
  one.set_runs_b(24);
  return one;
}

v1::OutlierCase& AddCase(v1::Outlier& outlier, const v1::CaseIdentity& identity, double ratio) {
  v1::OutlierCase& one = *outlier.add_cases();
  *one.mutable_case_() = identity;
  one.set_driver_version("580.95.05");
  one.set_kind(outlier.kind());
  one.set_z(-8.5);
  one.set_ratio(ratio);
  one.set_rank(1);
  one.set_place_count(64);
  one.set_median(4100 * ratio);
  one.set_peers_median(4100);
  *one.mutable_end_time() = Night(20);
  one.set_result_id("r1");
  return one;
}

void AddCost(v1::GetCostsResponse& costs, const std::string& provider, const std::string& gpu,
             double dollars) {
  v1::CostRow& row = *costs.add_rows();
  *row.mutable_case_() = GemmCase("8192");
  row.mutable_case_()->mutable_hardware()->set_gpu_model(gpu);
  row.set_provider(provider);
  row.set_median(712.3);
  row.set_dollars_per_hour(dollars);
  row.set_dollars_per_rate_hour(dollars / 0.7123);
  row.set_rate_unit("PFLOP/s");
  row.set_places(8);
  row.set_nodes(1);
  row.set_runs(40);
}

void AddRegression(v1::ListRegressionsResponse& found, const std::string& incident, int gpu,
                   v1::RegressionState state) {
  v1::Regression& one = *found.add_regressions();
  one.set_regression_id("c0ffee0" + std::to_string(gpu) + "-0000-4000-8000-000000000000");
  one.set_incident_id(incident);
  one.set_state(state);
  *one.mutable_case_() = CopyCase();
  *one.mutable_place() = GpuPlace(gpu);
  one.mutable_step()->set_ratio(0.803);
  one.mutable_step()->set_median_before(4112);
  one.mutable_step()->set_median_after(3302);
  *one.mutable_step()->mutable_time() = Night(20);
  *one.mutable_last_good_time() = Night(19);
}

}  // namespace

void UseUtc() {
  setenv("TZ", "UTC", 1);
  tzset();
}

int WidestLine(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, DisplayWidth(line));
  return widest;
}

google::protobuf::Timestamp Night(int day, int minute) {
  constexpr int64_t kFirst = 1793505600;  // 2026-11-01T04:00:00Z.
  google::protobuf::Timestamp time;
  time.set_seconds(kFirst + day * int64_t{86400} + minute * int64_t{60});
  return time;
}

v1::CaseIdentity GemmCase(const std::string& m, const std::string& dtype) {
  v1::CaseIdentity identity;
  identity.set_benchmark("gemm");
  for (const char* name : {"m", "n", "k"}) (*identity.mutable_parameters())[name] = m;
  (*identity.mutable_parameters())["dtype"] = dtype;
  identity.set_metric("tflops");
  identity.set_unit("TFLOP/s");
  identity.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  identity.mutable_hardware()->set_gpu_model("H200");
  identity.mutable_hardware()->set_gpu_form_factor("SXM");
  identity.mutable_hardware()->set_gpu_count(1);
  return identity;
}

v1::CaseIdentity CopyCase() {
  v1::CaseIdentity identity = GemmCase("1");
  identity.set_benchmark("memory_bandwidth");
  identity.clear_parameters();
  (*identity.mutable_parameters())["bytes"] = "1073741824";
  (*identity.mutable_parameters())["dtype"] = "fp32";
  (*identity.mutable_parameters())["op"] = "copy";
  identity.set_metric("bandwidth");
  identity.set_unit("GB/s");
  return identity;
}

v1::Place GpuPlace(int index) {
  v1::Place place;
  place.add_node_names("sim-0007");
  place.add_gpu_uuids("GPU-5d81be3d-1003-4d46-ad67-6be6871b487" + std::to_string(index));
  place.add_gpu_indices(index);
  return place;
}

v1::Place NodePlace(const std::string& node) {
  v1::Place place;
  place.add_node_names(node);
  for (int i = 0; i < 8; ++i) {
    place.add_gpu_uuids("GPU-" + std::to_string(i));
    place.add_gpu_indices(i);
  }
  return place;
}

v1::CompareResultsResponse DriverComparison() {
  v1::CompareResultsResponse comparison;
  comparison.set_label_a("driver 580.95.05");
  comparison.set_label_b("driver 590.10");
  comparison.set_runs_a(200);
  comparison.set_runs_b(120);
  AddCase(comparison, GemmCase("8192"), v1::COMPARISON_VERDICT_REGRESSED, 0.903, 0.004);
  AddCase(comparison, GemmCase("4096", "fp8"), v1::COMPARISON_VERDICT_IMPROVED, 1.125, 0.006);
  v1::CaseComparison* doubtful =
      &AddCase(comparison, GemmCase("1024"), v1::COMPARISON_VERDICT_INCONCLUSIVE, 0.976, 0.031);
  doubtful->set_missing(v1::MISSING_EVIDENCE_RUNS);
  doubtful->set_missing_count(4);
  doubtful = &AddCase(comparison, GemmCase("256"), v1::COMPARISON_VERDICT_INCONCLUSIVE, 0.95, 0);
  doubtful->clear_ratio_low();
  doubtful->clear_ratio_high();
  doubtful->set_these_places_only(true);
  doubtful->set_missing(v1::MISSING_EVIDENCE_ALTERNATING_RUNS);
  AddCase(comparison, GemmCase("2048"), v1::COMPARISON_VERDICT_EQUIVALENT, 1.0001, 0.008);
  comparison.set_excluded_runs(12);
  comparison.set_cases_only_b(2);
  return comparison;
}

v1::GetHistoryResponse CopyHistory(int places) {
  constexpr int kNights = 40;
  constexpr int kUpgrade = 25;
  v1::GetHistoryResponse history;
  for (int gpu = 0; gpu < places; ++gpu) {
    v1::PlaceHistory& place = *history.add_places();
    *place.mutable_case_() = CopyCase();
    *place.mutable_place() = GpuPlace(places == 1 ? 3 : gpu);
    const bool slower = place.place().gpu_indices(0) == 3;
    for (int night = 0; night < kNights; ++night) {
      v1::HistoryPoint& point = *place.add_points();
      *point.mutable_end_time() = Night(night, gpu);
      point.set_median((slower && night >= kUpgrade ? 3302 : 4080 + 5 * gpu) +
                       (night * 7 + gpu * 3) % 11);
      point.set_driver_version(night < kUpgrade ? "580.95.05" : "590.10");
      point.set_result_id("r" + std::to_string(night));
    }
    place.mutable_points(7)->set_excluded(true);
    if (!slower) continue;
    v1::HistoryStep& step = *place.add_steps();
    step.set_first_point(kUpgrade);
    *step.mutable_time() = Night(kUpgrade, gpu);
    step.set_ratio(0.808);
    step.set_median_before(4085);
    step.set_median_after(3307);
    step.set_driver_before("580.95.05");
    step.set_driver_after("590.10");
  }
  v1::Annotation& moved = *history.add_annotations();
  *moved.mutable_time() = Night(12);
  moved.set_text("moved to rack 7");
  moved.set_node_name("sim-0007");
  return history;
}

v1::ListRegressionsResponse DriverRegressions() {
  v1::ListRegressionsResponse found;
  *found.mutable_judged_until() = Night(39);
  v1::Incident* incident = found.add_incidents();
  incident->set_incident_id("3f2a91c0-0000-4000-8000-000000000000");
  incident->set_cause(v1::INCIDENT_CAUSE_DRIVER);
  incident->set_from("580.95.05");
  incident->set_to("590.10");
  incident->set_state(v1::REGRESSION_STATE_CONFIRMED);
  incident->set_scope(v1::REGRESSION_SCOPE_FLEET);
  *incident->mutable_start_time() = Night(20);
  incident->set_case_count(12);
  incident->set_place_count(64);
  incident->set_worst_ratio(0.803);
  AddRegression(found, incident->incident_id(), 3, v1::REGRESSION_STATE_CONFIRMED);
  AddRegression(found, incident->incident_id(), 4, v1::REGRESSION_STATE_ACKNOWLEDGED);
  v1::Regression& explained = *found.mutable_regressions(0);
  explained.set_scope(v1::REGRESSION_SCOPE_FLEET);
  v1::Explanation& clock = *explained.add_explanations();
  clock.set_field("sm_clock_mhz");
  clock.set_before(1980);
  clock.set_after(1755);
  v1::Explanation& throttled = *explained.add_explanations();
  throttled.set_field("throttle_reason");
  throttled.set_text_after("sw_power_cap");
  for (const bool peer : {false, false, true}) {
    v1::ConfirmationRun& run = *explained.add_reruns();
    run.set_peer(peer);
    *run.mutable_place() = GpuPlace(peer ? 2 : 3);
    run.set_median(peer ? 3310 : 3304);
  }
  found.mutable_regressions(1)->set_acknowledged_by("mia");
  found.mutable_regressions(1)->set_acknowledge_note("new fan ordered");
  incident = found.add_incidents();
  incident->set_incident_id("77aa0000-0000-4000-8000-000000000000");
  incident->set_cause(v1::INCIDENT_CAUSE_GPU);
  *incident->mutable_place() = GpuPlace(3);
  incident->set_state(v1::REGRESSION_STATE_DETECTED);
  *incident->mutable_start_time() = Night(18);
  incident->set_case_count(1);
  incident->set_place_count(1);
  incident->set_worst_ratio(0.97);
  return found;
}

v1::ListOutliersResponse SlowGpus() {
  v1::ListOutliersResponse found;
  found.set_judged_places(64);
  found.set_unjudged_places(3);
  *found.mutable_judged_until() = Night(20);
  v1::Outlier* outlier = found.add_outliers();
  *outlier->mutable_place() = GpuPlace(3);
  outlier->set_kind(v1::OUTLIER_KIND_SLOW);
  outlier->set_judged_count(40);
  AddCase(*outlier, CopyCase(), 0.803);
  AddCase(*outlier, GemmCase("8192"), 0.95).set_power_limited(true);
  outlier = found.add_outliers();
  *outlier->mutable_place() = NodePlace("sim-0009");
  outlier->set_kind(v1::OUTLIER_KIND_IMPLAUSIBLE);
  outlier->set_judged_count(40);
  AddCase(*outlier, CopyCase(), 1.4).set_rank(64);
  return found;
}

v1::GetCostsResponse Costs() {
  v1::GetCostsResponse costs;
  AddCost(costs, "runpod", "H200", 3.59);
  AddCost(costs, "lambda", "H100", 4.19);
  v1::CostRow& time = *costs.add_rows();
  *time.mutable_case_() = GemmCase("1");
  time.mutable_case_()->set_metric("time");
  time.mutable_case_()->set_unit("s");
  time.set_median(4.1e-6);
  time.set_dollars_per_hour(3.59);
  costs.set_unpriced_runs(17);
  return costs;
}

v1::Baseline GemmBaseline() {
  v1::Baseline baseline;
  baseline.set_name("accepted-2026-11");
  baseline.set_filter("benchmark = gemm");
  baseline.set_created_by("mia");
  *baseline.mutable_create_time() = Night(20);
  for (const char* m : {"4096", "8192"}) {
    v1::BaselineCase& one = *baseline.add_cases();
    *one.mutable_case_() = GemmCase(m);
    one.set_median(712.3);
    one.set_runs(40);
    one.set_places(8);
  }
  baseline.set_case_count(2);
  baseline.set_run_count(80);
  return baseline;
}

}  // namespace assay::cli
