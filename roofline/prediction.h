// The roofline model: how long the work should have taken, and how close a
// measured time came.
#pragma once

#include <optional>
#include <string>

#include "model/work.h"
#include "roofline/alpha_beta.h"
#include "roofline/spec_sheet.h"

namespace assay {

// Rates that bound a case, per second. Absent: not known, so not predicted from.
struct Peaks {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> link_bytes;
  std::optional<double> sm_amount;
};

struct Prediction {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> arithmetic_intensity;  // FLOP a byte.
  std::optional<double> predicted_seconds;
  // "compute", "memory", "link", "cache" (L1 or shared memory), "latency"; empty without one.
  std::string bound;
  // 1.0 is the peak itself, without the fixed cost of an iteration.
  std::optional<double> efficiency_spec;
  std::optional<double> efficiency_measured;
  std::optional<double> efficiency_clock;
  std::string spec;  // Row used: "H200 SXM". Empty without one.
  // FLOP a byte at which compute and memory bounds meet, by the peaks predicted from, and by
  // the measured ceilings.
  std::optional<double> ridge_point;
  std::optional<double> ridge_measured;
  // What takes the time, by the model: "launch" if the fixed cost of an iteration is at least
  // the ideal time or half of the measured one, else the largest term of the ideal time:
  // "compute", "memory", "link", or "cache" where caches or shared memory stand in for memory.
  // The ideal time here is that of the measured ceilings if they bound all that the work has,
  // else that of the sheet. Empty if it cannot be told.
  std::string regime;
  // Fitted to this machine's times of other sizes, and what it says of this one's. Not
  // Predict's to fill: runner/link_models.h.
  std::optional<AlphaBeta> link_model;
  double link_model_seconds = 0;
};

// max(flops / peak, bytes / bandwidth, link bytes / link) over the amounts that
// `work` has, Work::sm_amount included, in seconds (Williams, Waterman & Patterson 2009).
// Absent if one of them has no peak: the largest term might be the missing one.
struct IdealTime {
  double seconds = 0;
  std::string bound;
};
std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks);

// Peaks of the sheet for `work`: its column, its memory, one direction of its link, and
// SMs x RatePerClock x the clock that the sheet's fp32 peak assumes for Work::sm_amount.
Peaks SheetPeaks(const GpuSpec& spec, const Work& work);

// As SheetPeaks, the arithmetic at an SM clock of `mhz` instead of the sheet's:
// SMs x RatePerClock x clock. No arithmetic peak where that rate is not known.
Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz);

// What is known beside the work when a case has been measured.
struct Evidence {
  const GpuSpec* spec = nullptr;       // Null: no sheet (CPU, unknown GPU).
  std::optional<double> sm_clock_mhz;  // Observed over the timed window.
  Ceilings ceilings;
  // The case's bytes stay in caches from one iteration to the next: what memory
  // delivers neither bounds it nor predicts its time.
  bool in_cache = false;
};

// `seconds`: measured time of an iteration, its median. Predicts from the sheet,
// or without one from the measured ceilings.
Prediction Predict(const Work& work, const Evidence& evidence, double seconds);

// How the predictions of a benchmark on `resource` are made, for people, without line ends: its
// BenchmarkInfo::prediction as `own`, or, if that is empty, by the roofline model; of networks,
// which have no peaks, that there are none.
std::string DescribePrediction(const std::string& own, Resource resource);

}  // namespace assay
