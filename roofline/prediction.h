// The roofline model: predicts the time of the work, and relates measured times to it.
#pragma once

#include <optional>
#include <string>

#include "model/work.h"
#include "roofline/alpha_beta.h"
#include "roofline/spec_sheet.h"

namespace assay {

// Peak rates per second that limit a benchmark. A rate is absent if it is unknown; there is no
// prediction for work that needs it.
struct Peaks {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> link_bytes;
  std::optional<double> sm_amount;
};

struct Prediction {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> arithmetic_intensity;  // FLOP per byte.
  std::optional<double> predicted_seconds;
  // The limit of the predicted time: "compute", "memory", "link", "cache" (L1 or shared memory) or
  // "latency". Empty without a prediction.
  std::string bound;
  // 1.0 is the peak itself, without the fixed cost of an iteration.
  std::optional<double> efficiency_spec;
  std::optional<double> efficiency_measured;
  std::optional<double> efficiency_clock;
  std::string spec;  // The row used, such as "H200 SXM"; empty without one.
  // Arithmetic intensity, in FLOP per byte, above which arithmetic is the limit instead of memory.
  // One is computed from the peaks used for the prediction, the other from the measured ceilings.
  std::optional<double> ridge_point;
  std::optional<double> ridge_measured;
  // The main part of an iteration's time: "launch" if its fixed cost is at least the ideal time
  // or half of the measured time. Otherwise the largest term of the ideal time: "compute",
  // "memory", "link", or "cache" if the data comes from caches or shared memory. The ideal time
  // uses the measured ceilings if they cover all of the work, else the spec sheet. Empty if
  // unknown.
  std::string regime;
  // The latency-and-bandwidth model fitted to this machine's times of other message sizes, and the
  // time that it predicts for this size. Not set by Predict.
  std::optional<AlphaBeta> link_model;
  double link_model_seconds = 0;
};

struct IdealTime {
  double seconds = 0;
  std::string bound;  // The term that determines it, as in Prediction::bound.
};
// Returns the shortest time that the roofline model allows (Williams, Waterman & Patterson 2009):
// max(flops / peak, bytes / bandwidth, link bytes / link bandwidth), and Work::sm_amount over its
// peak. Returns nullopt if `work` needs a peak that is unknown, because that term might be the
// largest.
std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks);

// Returns the peak rates from a GPU's spec sheet that apply to `work`: arithmetic, memory bandwidth
// and one direction of its link. The peak for Work::sm_amount is the number of SMs x RatePerClock x
// the clock at which the GPU reaches the sheet's fp32 peak.
Peaks SheetPeaks(const GpuSpec& spec, const Work& work);

// Like SheetPeaks, but arithmetic peaks hold for an SM clock of `mhz`: number of SMs x RatePerClock
// x clock. They are absent if the rate per clock is unknown.
Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz);

// The known facts about a measured case besides its work.
struct Evidence {
  const GpuSpec* spec = nullptr;       // Null without a sheet (CPU, unknown GPU).
  std::optional<double> sm_clock_mhz;  // Observed over the timed window.
  Ceilings ceilings;
  // True if the data of the benchmark stays in caches between iterations. Memory bandwidth then
  // neither limits nor predicts the time.
  bool in_cache = false;
};

// Predicts the time of an iteration from the spec sheet or, without one, from the measured
// ceilings, and compares it with `seconds`, the median of the measured times.
Prediction Predict(const Work& work, const Evidence& evidence, double seconds);

// Returns one line that tells users how the times of a benchmark on `resource` are predicted. This
// is `own` (from BenchmarkInfo::prediction) if it is not empty, and otherwise the roofline model.
// Networks have no spec sheet; for them it is the model fitted to measured times.
std::string DescribePrediction(const std::string& own, Resource resource);

}  // namespace assay
