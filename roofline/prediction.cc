#include "roofline/prediction.h"

#include <algorithm>

namespace assay {
namespace {

// Returns the key in GpuSpec::flops of the peak rate that limits `work`. If the GPU has no rate for
// this kind of work, returns a substitute: GPUs without fp64 tensor cores compute fp64 matrix
// products on their vector units, and GPUs older than Ampere support no 16-bit type except fp16.
std::string ColumnOf(const GpuSpec& spec, const Work& work) {
  const std::string column(ToText(work.peak));
  if (spec.flops.count(column) > 0) return column;
  if (work.peak == Peak::kFp64Tensor) return std::string(ToText(Peak::kFp64Vector));
  return work.peak == Peak::kBf16 && spec.flops.count("fp16") > 0 ? "fp16" : column;
}

// Returns the clock in Hz at which the GPU reaches the fp32 peak of its spec sheet.
std::optional<double> SheetClock(const GpuSpec& spec) {
  const auto peak = spec.flops.find("fp32");
  const auto rate = RatePerClock(spec.name, "fp32");
  if (peak == spec.flops.end() || !rate || !spec.sm_count) return std::nullopt;
  return peak->second / (*rate * *spec.sm_count);
}

// Returns how much of Work::sm_amount the GPU performs per second at a clock of `hz`.
std::optional<double> SmPeak(const GpuSpec& spec, const Work& work, std::optional<double> hz) {
  const auto rate = RatePerClock(spec.name, std::string(ToText(work.sm_rate)));
  if (!rate || !spec.sm_count || !hz) return std::nullopt;
  return *rate * (work.sm_count > 0 ? work.sm_count : *spec.sm_count) * *hz;
}

std::optional<double> Efficiency(const Work& work, const Peaks& peaks, double seconds) {
  const auto ideal = Ideal(work, peaks);
  if (!ideal || seconds <= 0) return std::nullopt;
  return ideal->seconds / seconds;
}

// Returns the ridge point (see prediction.h).
std::optional<double> RidgePoint(const Work& work, const Peaks& peaks) {
  if (work.flops <= 0 || !peaks.flops || !peaks.bytes || *peaks.bytes <= 0) return std::nullopt;
  return *peaks.flops / *peaks.bytes;
}

// Returns the dominant part of an iteration's time:
// - "launch" if the fixed cost, such as a kernel launch, is at least the ideal time or at least
//   half of the measured time;
// - otherwise, the resource that limits the ideal time, such as "memory";
// - an empty string if the ideal time is unknown.
std::string Regime(double fixed_seconds, const std::optional<IdealTime>& ideal, double seconds) {
  const bool outweighs = ideal && fixed_seconds >= ideal->seconds;
  if (fixed_seconds > 0 && (outweighs || seconds <= 2 * fixed_seconds)) return "launch";
  return ideal ? ideal->bound : "";
}

}  // namespace

std::optional<double> PcieBytesPerSecond(const GpuSpec& spec) {
  if (!spec.pcie_generation || *spec.pcie_generation < 3 || *spec.pcie_generation > 5) {
    return std::nullopt;
  }
  const double transfers = 8e9 * (1 << (*spec.pcie_generation - 3));
  return 16 * transfers * 128 / 130 / 8;
}

std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks) {
  const struct {
    double amount;
    const std::optional<double>& peak;
    const char* bound;
  } terms[] = {{work.flops, peaks.flops, "compute"},
               {work.bytes, peaks.bytes, "memory"},
               {work.link_bytes, peaks.link_bytes, "link"},
               {work.sm_amount, peaks.sm_amount,
                work.sm_rate == SmRate::kSharedBytes ? "cache" : "compute"}};
  IdealTime ideal;
  for (const auto& term : terms) {
    if (term.amount <= 0) continue;
    if (!term.peak || *term.peak <= 0) return std::nullopt;
    const double seconds = term.amount / *term.peak;
    if (seconds > ideal.seconds) ideal = {seconds, term.bound};
  }
  if (ideal.bound.empty()) return std::nullopt;
  return ideal;
}

Peaks SheetPeaks(const GpuSpec& spec, const Work& work) {
  Peaks peaks;
  const auto column = spec.flops.find(ColumnOf(spec, work));
  if (column != spec.flops.end()) peaks.flops = column->second;
  peaks.bytes = spec.memory_bytes_per_second;
  if (work.link == LinkKind::kPcie) peaks.link_bytes = PcieBytesPerSecond(spec);
  if (work.link == LinkKind::kNvlink) peaks.link_bytes = spec.nvlink_bytes_per_second;
  peaks.sm_amount = SmPeak(spec, work, SheetClock(spec));
  return peaks;
}

Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz) {
  Peaks peaks = SheetPeaks(spec, work);
  const auto rate = RatePerClock(spec.name, ColumnOf(spec, work));
  peaks.flops.reset();
  peaks.sm_amount.reset();
  if (mhz <= 0) return peaks;
  if (rate && spec.sm_count) peaks.flops = *rate * *spec.sm_count * mhz * 1e6;
  peaks.sm_amount = SmPeak(spec, work, mhz * 1e6);
  return peaks;
}

Prediction Predict(const Work& work, const Evidence& evidence, double seconds) {
  Prediction prediction;
  if (work.flops > 0) prediction.flops = work.flops;
  if (work.bytes > 0) prediction.bytes = work.bytes;
  if (work.flops > 0 && work.bytes > 0) prediction.arithmetic_intensity = work.flops / work.bytes;

  const Peaks measured = {evidence.ceilings.flops, evidence.ceilings.bytes,
                          evidence.ceilings.link_bytes, std::nullopt};
  Peaks basis = measured;
  if (evidence.spec != nullptr) basis = SheetPeaks(*evidence.spec, work);
  const double fixed = std::max(work.fixed_seconds, evidence.ceilings.fixed_seconds.value_or(0));
  if (work.fixed_only) {
    prediction.predicted_seconds = fixed;
    prediction.bound = "latency";
    prediction.regime = "launch";
    return prediction;
  }
  const auto ideal = Ideal(work, basis);
  const auto reached = Ideal(work, measured);
  prediction.ridge_point = RidgePoint(work, basis);
  prediction.ridge_measured = RidgePoint(work, measured);
  prediction.regime = Regime(fixed, reached ? reached : ideal, seconds);
  if (evidence.in_cache && ideal && ideal->bound == "memory") {
    if (prediction.regime == "memory") prediction.regime = "cache";
    return prediction;
  }

  prediction.efficiency_measured = Efficiency(work, measured, seconds);
  if (evidence.spec != nullptr) {
    prediction.efficiency_spec = Efficiency(work, basis, seconds);
    if (prediction.efficiency_spec) prediction.spec = evidence.spec->name;
    if (evidence.sm_clock_mhz && (work.flops > 0 || work.sm_amount > 0)) {
      prediction.efficiency_clock =
          Efficiency(work, ClockPeaks(*evidence.spec, work, *evidence.sm_clock_mhz), seconds);
    }
  }
  if (ideal) {
    prediction.predicted_seconds = ideal->seconds + fixed;
    prediction.bound = fixed > ideal->seconds ? "latency" : ideal->bound;
  }
  return prediction;
}

std::string DescribePrediction(const std::string& own, Resource resource) {
  if (!own.empty()) return own;
  if (resource == Resource::kNetwork) {
    return "none from a spec sheet; with three or more sizes, the fitted model predicts "
           "latency + bytes / bandwidth";
  }
  const std::string peaks = resource == Resource::kGpu
                                ? "the GPU's spec sheet; without one, the ceilings measured on it"
                                : "ceilings measured together with the case";
  return "predicted = max(FLOPs / peak, bytes / bandwidth, link bytes / link) + the fixed cost "
         "of an iteration. Peaks: " +
         peaks + ". Efficiency: that maximum divided by the median time.";
}

}  // namespace assay
