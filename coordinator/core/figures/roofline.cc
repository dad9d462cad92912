// Places results in the roofline of their GPU.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "campaign/accept_rule.h"
#include "coordinator/core/figures/figures.h"
#include "coordinator/core/figures/visit.h"
#include "roofline/prediction.h"
#include "roofline/spec_sheet.h"
#include "wire/interval.h"

namespace assay::coordinator {
namespace {

constexpr int kMostPoints = 10'000;
// Maximum number of results that are examined to get enough points.
constexpr int kMostExamined = 20'000;
// Number of results with the highest bandwidths that are searched for one that is beyond doubt.
constexpr int kBestExamined = 100;
// Number of the newest results that are searched instead if there are too many results to sort.
constexpr int kNewestExamined = 1000;

// A kind of hardware. Results on the same kind of hardware share a roofline.
struct Hardware {
  std::string gpu_model;  // Empty for CPUs.
  std::string mig_profile;
  std::string form_factor;
  std::string cpu_model;  // Only without GPUs.
  bool simulated = false;

  auto operator<=>(const Hardware&) const = default;
  bool is_cpu() const { return gpu_model.empty(); }
  std::string Name() const {
    return mig_profile.empty() ? gpu_model : gpu_model + " " + mig_profile;
  }
};

Hardware HardwareOf(const v1::CaseResult& run) {
  const v1::Environment& environment = run.environment();
  Hardware hardware{environment.gpu_model(), environment.mig_profile(),
                    environment.gpu_form_factor(), "", run.provenance().simulated()};
  if (hardware.is_cpu()) hardware.cpu_model = environment.cpu_model();
  return hardware;
}

// The points of one roofline, and the data from which its roofs are made.
struct Group {
  std::vector<v1::RooflinePoint> points;
  std::map<std::string, int> specs;      // Number of points by spec sheet.
  std::vector<double> clocks;            // In MHz.
  std::set<std::string> compute_roofs;   // Those that apply to a point.
  std::map<std::string, v1::Roof> best;  // By name, of points beyond doubt.
};

bool IsBeyondDoubt(const v1::CaseResult& run) {
  // Factor by which a result may exceed the spec sheet. If it exceeds the sheet by more, the
  // measurement is wrong or the node is reporting false values.
  constexpr double kMostOfSheet = 1.1;
  return run.verification().passed() && run.conditions().flags().empty() &&
         run.prediction().efficiency_spec() <= kMostOfSheet;
}

// A rate with the ends of its confidence interval.
struct Rate {
  double value = 0;
  std::optional<std::pair<double, double>> interval;
};

// Converts a measurement to FLOP/s. Returns nullopt if its value or its unit does not allow that.
std::optional<Rate> FlopsPerSecond(const v1::Measurement& measured,
                                   const v1::Prediction& prediction) {
  using campaign::UnitFactor;
  if (!(measured.median() > 0) || !std::isfinite(measured.median())) return std::nullopt;
  const bool has_interval = schema::HasInterval(measured) && measured.ci_low() > 0;
  const auto scaled = [&](double factor) {
    Rate rate{measured.median() * factor, std::nullopt};
    if (has_interval) {
      rate.interval = {measured.ci_low() * factor, measured.ci_high() * factor};
    }
    return rate;
  };
  if (const auto factor = UnitFactor(measured.unit(), "FLOP/s")) return scaled(*factor);
  if (const auto factor = UnitFactor(measured.unit(), "B/s")) {
    return scaled(*factor * prediction.arithmetic_intensity());
  }
  const auto factor = UnitFactor(measured.unit(), "s");
  if (!factor) return std::nullopt;
  const double flops = prediction.flops() / *factor;
  Rate rate{flops / measured.median(), std::nullopt};
  // A longer time is a lower rate.
  if (has_interval) rate.interval = {flops / measured.ci_high(), flops / measured.ci_low()};
  return rate;
}

// Returns the prefix of those columns of a spec sheet that may apply to elements of type `dtype`.
std::string ColumnPrefix(const std::string& dtype) {
  if (dtype == "fp16") return "bf16";
  return dtype.substr(0, dtype.find('_'));  // "fp8" of "fp8_e4m3".
}

// Returns the name of the compute peak (a column of the spec sheet) on which a prediction is based.
// Finds the peak by its value, which is the ridge point times the memory bandwidth, because results
// do not contain its name. If several columns have this value, the element type decides.
std::string ComputeRoofOf(const v1::CaseResult& run) {
  constexpr double kRounding = 1e-6;
  const auto dtype = run.parameters().find("dtype");
  const std::string prefix = dtype == run.parameters().end() ? "" : ColumnPrefix(dtype->second);
  const GpuSpec* const spec = SheetNamed(run.prediction().spec());
  if (spec == nullptr || !spec->memory_bytes_per_second || !run.prediction().has_ridge_point()) {
    return prefix;
  }
  const double used = run.prediction().ridge_point() * *spec->memory_bytes_per_second;
  std::string found;
  for (const auto& [column, peak] : spec->flops) {
    if (std::fabs(peak / used - 1) > kRounding) continue;
    if (found.empty() || (!prefix.empty() && column.starts_with(prefix))) found = column;
  }
  return found.empty() ? prefix : found;
}

Peak PeakNamed(const std::string& name) {
  for (const Peak peak : {Peak::kFp64Vector, Peak::kFp64Tensor, Peak::kFp32, Peak::kTf32,
                          Peak::kBf16, Peak::kFp8, Peak::kInt8, Peak::kFp4}) {
    if (ToText(peak) == name) return peak;
  }
  return Peak::kNone;
}

v1::Roof MakeRoof(const std::string& name, bool is_bandwidth, const std::string& basis,
                  double value, const std::string& result_id = "") {
  v1::Roof roof;
  roof.set_name(name);
  roof.set_is_bandwidth(is_bandwidth);
  roof.set_basis(basis);
  roof.set_value(value);
  roof.set_result_id(result_id);
  return roof;
}

std::optional<v1::RooflinePoint> PointOf(const v1::StoredResult& result) {
  const v1::CaseResult& run = result.case_result();
  const v1::Prediction& prediction = run.prediction();
  if (run.outcome() != v1::CASE_OUTCOME_OK || run.measurements().empty()) return std::nullopt;
  if (!(prediction.flops() > 0) || !(prediction.arithmetic_intensity() > 0)) return std::nullopt;
  const std::optional<Rate> rate = FlopsPerSecond(run.measurements(0), prediction);
  if (!rate) return std::nullopt;
  v1::RooflinePoint point;
  point.set_result_id(result.result_id());
  point.set_benchmark(run.benchmark());
  *point.mutable_parameters() = run.parameters();
  point.set_compute_roof(ComputeRoofOf(run));
  point.set_cache(run.measurements(0).method().cache());
  point.set_arithmetic_intensity(prediction.arithmetic_intensity());
  point.set_flops_per_second(rate->value);
  if (rate->interval) {
    point.set_flops_per_second_low(rate->interval->first);
    point.set_flops_per_second_high(rate->interval->second);
  }
  point.set_regime(prediction.regime());
  if (prediction.has_efficiency_spec()) point.set_efficiency_spec(prediction.efficiency_spec());
  if (prediction.has_efficiency_measured()) {
    point.set_efficiency_measured(prediction.efficiency_measured());
  }
  if (prediction.has_efficiency_clock()) point.set_efficiency_clock(prediction.efficiency_clock());
  const v1::Provenance& provenance = run.provenance();
  if (!provenance.node_names().empty()) point.set_node_name(provenance.node_names(0));
  if (provenance.gpu_uuids_size() == 1) point.set_gpu_uuid(provenance.gpu_uuids(0));
  *point.mutable_end_time() = run.end_time();
  *point.mutable_flags() = run.conditions().flags();
  return point;
}

void AddPoint(const v1::StoredResult& result, v1::RooflinePoint point, Group& group) {
  const v1::CaseResult& run = result.case_result();
  if (!run.prediction().spec().empty()) ++group.specs[run.prediction().spec()];
  if (run.conditions().has_sm_clock_mhz()) group.clocks.push_back(run.conditions().sm_clock_mhz());
  const std::string name = point.compute_roof();
  if (!name.empty()) group.compute_roofs.insert(name);
  // A point that is limited by memory or by launches says nothing about the compute peak.
  if (IsBeyondDoubt(run) && !name.empty() && point.regime() == "compute") {
    v1::Roof& best = group.best[name];
    if (point.flops_per_second() > best.value()) {
      best = MakeRoof(name, false, "measured", point.flops_per_second(), result.result_id());
    }
  }
  group.points.push_back(std::move(point));
}

std::string MostFrequent(const std::map<std::string, int>& counts) {
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

double MedianClock(std::vector<double> clocks) {
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

// Adds the roofs given by a spec sheet: its bandwidth and its compute peaks. Also adds these
// compute peaks scaled to the median clock of the measured points.
void AddSheetRoofs(const Group& group, v1::Roofline& roofline) {
  const GpuSpec* const spec = SheetNamed(MostFrequent(group.specs));
  if (spec == nullptr) return;
  roofline.set_spec(spec->name);
  roofline.set_spec_certainty(spec->certainty);
  if (spec->memory_bytes_per_second) {
    *roofline.add_roofs() = MakeRoof("HBM", true, "sheet", *spec->memory_bytes_per_second);
  }
  for (const std::string& name : group.compute_roofs) {
    const auto peak = spec->flops.find(name);
    if (peak == spec->flops.end()) continue;
    *roofline.add_roofs() = MakeRoof(name, false, "sheet", peak->second);
    if (group.clocks.empty()) continue;
    Work work;
    work.flops = 1;
    work.peak = PeakNamed(name);
    const Peaks peaks = ClockPeaks(*spec, work, MedianClock(group.clocks));
    if (peaks.flops) *roofline.add_roofs() = MakeRoof(name, false, "clock", *peaks.flops);
  }
}

// Returns the names of the levels of memory, with filters for the results that measure them.
std::vector<std::pair<std::string, std::string>> BandwidthFilters(const Hardware& hardware) {
  if (hardware.is_cpu()) return {{"DRAM", "benchmark = cpu_memory_bandwidth AND regime = memory"}};
  return {{"HBM", "benchmark = memory_bandwidth AND cache = cold"},
          {"L2", "benchmark = cache_bandwidth AND parameters.level = l2"}};
}

// Finds the highest bandwidth measured on this hardware by a result that matches `filter`, and
// returns it as a roof. Ignores doubtful results. Returns nullopt if no others are left.
Result<std::optional<v1::Roof>> BestBandwidth(const Environment& environment,
                                              const Hardware& hardware, const std::string& name,
                                              const std::string& filter) {
  const std::string all =
      filter + " AND metric = bandwidth AND outcome = ok AND simulated = " +
      (hardware.simulated ? "true" : "false") + " AND " +
      (hardware.is_cpu() ? "cpu.model = " + FilterText(hardware.cpu_model)
                         : "gpu.count = 1 AND gpu.model = " + FilterText(hardware.gpu_model));
  std::optional<v1::Roof> best;
  const auto visit = [&](const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    if (!IsBeyondDoubt(run) || HardwareOf(run) != hardware) return true;
    const v1::Measurement& measured = run.measurements(0);
    const auto factor = campaign::UnitFactor(measured.unit(), "B/s");
    const double value = factor ? measured.median() * *factor : 0;
    if (value > (best ? best->value() : 0)) {
      best = MakeRoof(name, true, "measured", value, result.result_id());
    }
    return true;
  };
  Status status = VisitResults(environment, all, "median desc", kBestExamined, visit).status();
  if (status.reason() == Reason::kTooManyResults) {
    status = VisitResults(environment, all, "", kNewestExamined, visit).status();
  }
  if (!status.ok()) return status;
  return best;
}

}  // namespace

Result<v1::GetRooflineResponse> Figures::GetRoofline(const v1::GetRooflineRequest& request) const {
  constexpr int kNormalPoints = 1000;
  ASSAY_ASSIGN_OR_RETURN(const int limit, LimitOf(request.limit(), kNormalPoints, kMostPoints));
  std::map<Hardware, Group> groups;
  int points = 0;
  const auto visit = [&](const v1::StoredResult& result) {
    std::optional<v1::RooflinePoint> point = PointOf(result);
    if (!point) return true;
    if (points == limit) return false;
    ++points;
    AddPoint(result, *std::move(point), groups[HardwareOf(result.case_result())]);
    return true;
  };
  v1::GetRooflineResponse response;
  ASSAY_ASSIGN_OR_RETURN(const int remaining,
                         VisitResults(environment_, request.filter(), "", kMostExamined, visit));
  response.set_remaining_count(remaining);
  for (auto& [hardware, group] : groups) {
    v1::Roofline roofline;
    roofline.set_gpu_model(hardware.is_cpu() ? "" : hardware.Name());
    roofline.set_gpu_form_factor(hardware.form_factor);
    AddSheetRoofs(group, roofline);
    for (const auto& [name, roof] : group.best) *roofline.add_roofs() = roof;
    for (const auto& [name, filter] : BandwidthFilters(hardware)) {
      ASSAY_ASSIGN_OR_RETURN(const std::optional<v1::Roof> best,
                             BestBandwidth(environment_, hardware, name, filter));
      if (best) *roofline.add_roofs() = *best;
    }
    // Leave out CPUs without a measured roof. CPUs have no spec sheet, so there is nothing to
    // compare their points with.
    if (hardware.is_cpu() && roofline.roofs().empty()) continue;
    roofline.mutable_points()->Assign(group.points.begin(), group.points.end());
    *response.add_rooflines() = std::move(roofline);
  }
  std::stable_sort(response.mutable_rooflines()->begin(), response.mutable_rooflines()->end(),
                   [](const v1::Roofline& a, const v1::Roofline& b) {
                     return a.points_size() > b.points_size();
                   });
  return response;
}

}  // namespace assay::coordinator
