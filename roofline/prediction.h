// The roofline model: predicts the time of the work, and relates measured times to it.
#pragma once

#include <optional>
#include <string>

#include "model/work.h"
#include "roofline/alpha_beta.h"
#include "roofline/spec_sheet.h"

namespace assay {

// Rates that bound a case, per second. An absent one is unknown and takes no part in the
// prediction.
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
  // "compute", "memory", "link", "cache" (L1 or shared memory) or "latency"; empty without a
  // prediction.
  std::string bound;
  // 1.0 is the peak itself, without the fixed cost of an iteration.
  std::optional<double> efficiency_spec;
  std::optional<double> efficiency_measured;
  std::optional<double> efficiency_clock;
  std::string spec;  // The row used, such as "H200 SXM"; empty without one.
  // FLOP per byte at which the compute and memory bounds meet, by the peaks used for the prediction
  // and by the measured ceilings.
  std::optional<double> ridge_point;
  std::optional<double> ridge_measured;
  // The term that dominates the time: "launch" if the fixed cost of an iteration is at least the
  // ideal time or half of the measured one, else the largest term of the ideal time: "compute",
  // "memory", "link", or "cache" if caches or shared memory replace memory. The ideal time is
  // computed from the measured ceilings if they bound all of the work, else from the sheet. Empty
  // if unknown.
  std::string regime;
  // The model fitted to this machine's times of other sizes, and its prediction for this one. Not
  // set by Predict.
  std::optional<AlphaBeta> link_model;
  double link_model_seconds = 0;
};

// Returns max(flops / peak, bytes / bandwidth, link bytes / link) in seconds over the amounts that
// `work` has, including Work::sm_amount (Williams, Waterman & Patterson 2009). Returns nothing if
// one of them has no peak, because the largest term might be missing.
struct IdealTime {
  double seconds = 0;
  std::string bound;
};
std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks);

// Returns the sheet's peaks for `work`: its column, its memory, one direction of its link, and SMs
// x RatePerClock x the clock that the sheet's fp32 peak assumes for Work::sm_amount.
Peaks SheetPeaks(const GpuSpec& spec, const Work& work);

// Like SheetPeaks, with the arithmetic at an SM clock of `mhz`: SMs x RatePerClock x clock. There
// is no arithmetic peak if that rate is unknown.
Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz);

// The known facts about a measured case besides its work.
struct Evidence {
  const GpuSpec* spec = nullptr;       // Null without a sheet (CPU, unknown GPU).
  std::optional<double> sm_clock_mhz;  // Observed over the timed window.
  Ceilings ceilings;
  // The case's bytes stay in caches between iterations, so memory bandwidth neither bounds nor
  // predicts its time.
  bool in_cache = false;
};

// Predicts from the sheet, or without one from the measured ceilings. `seconds` is the median
// measured time of an iteration.
Prediction Predict(const Work& work, const Evidence& evidence, double seconds);

// Describes in one line for users how predictions of a benchmark on `resource` are made: `own`
// (BenchmarkInfo::prediction) unless it is empty, else the roofline model; for networks, which have
// no peaks, that there are none.
std::string DescribePrediction(const std::string& own, Resource resource);

}  // namespace assay
