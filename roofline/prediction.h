// The roofline model. Predicts the time of an iteration from its work, and compares measured times
// with the prediction.
#pragma once

#include <optional>
#include <string>

#include "model/work.h"
#include "roofline/alpha_beta.h"
#include "roofline/spec_sheet.h"

namespace assay {

// The peak rates, per second, that limit a benchmark. An unknown rate is nullopt. Work that needs
// an unknown rate cannot be predicted.
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
  // The resource that limits the predicted time: "compute", "memory", "link", "cache" (L1 or shared
  // memory) or "latency". Empty if there is no prediction.
  std::string bound;
  // The ideal time divided by the measured time, so 1.0 means that peak rates are reached. The
  // ideal time does not include the fixed cost of an iteration.
  std::optional<double> efficiency_spec;
  std::optional<double> efficiency_measured;
  std::optional<double> efficiency_clock;
  std::string spec;  // The row used, such as "H200 SXM"; empty without one.
  // The ridge point: the arithmetic intensity, in FLOP per byte, above which arithmetic rather than
  // memory limits the speed. `ridge_point` is computed from the peak rates that the prediction
  // uses, and `ridge_measured` from the measured ceilings.
  std::optional<double> ridge_point;
  std::optional<double> ridge_measured;
  // The main part of an iteration's time. This is "launch" if the fixed cost is at least the ideal
  // time, or at least half of the measured time. Otherwise it is the resource that limits the ideal
  // time: "compute", "memory", "link" or "cache" (caches or shared memory). The ideal time uses
  // measured ceilings if they cover all of the work, and the spec sheet otherwise. Empty if
  // unknown.
  std::string regime;
  // A latency and bandwidth model, fitted to this machine's times for other message sizes, and the
  // time that this model predicts for this size. Predict() does not set these fields.
  std::optional<AlphaBeta> link_model;
  double link_model_seconds = 0;
};

struct IdealTime {
  double seconds = 0;
  std::string bound;  // The term that determines it, as in Prediction::bound.
};
// Returns the shortest time that the roofline model allows (Williams, Waterman & Patterson 2009).
// This is the largest of flops / peak, bytes / bandwidth, link bytes / link bandwidth, and the
// amount of other work on the multiprocessors (Work::sm_amount) / its peak. Returns nullopt if a
// required peak is unknown, because its term might be the largest.
std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks);

// Returns the peak rates from a GPU's spec sheet that apply to `work`: arithmetic, memory
// bandwidth, and link bandwidth in one direction. For Work::sm_amount, the peak is the number of
// SMs x the rate per SM and clock cycle x the clock at which the GPU reaches its fp32 peak.
Peaks SheetPeaks(const GpuSpec& spec, const Work& work);

// Like SheetPeaks(), but computes arithmetic peaks for an SM clock of `mhz`, as the number of SMs x
// the rate per SM and clock cycle x the clock. A peak is nullopt if its rate is unknown.
Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz);

// Returns the bandwidth of a GPU's PCI Express link with 16 lanes, in one direction. Generations 3,
// 4 and 5 transfer 8, 16 and 32 GT/s per lane, and 128 of 130 bits are data (PCI Express Base
// Specification 5.0). Returns nullopt for other generations, such as generation 6, which uses
// another encoding.
std::optional<double> PcieBytesPerSecond(const GpuSpec& spec);

// The facts about a measured case, other than its work, that a prediction uses.
struct Evidence {
  const GpuSpec* spec = nullptr;       // Null without a sheet (CPU, unknown GPU).
  std::optional<double> sm_clock_mhz;  // Observed over the timed window.
  Ceilings ceilings;
  // True if the benchmark's data stays in caches between iterations. In this case, memory bandwidth
  // does not limit the time and is not used to predict it.
  bool in_cache = false;
};

// Predicts the time of an iteration and compares it with `seconds`, the median of the measured
// times. The prediction uses the spec sheet or, if there is none, the measured ceilings.
Prediction Predict(const Work& work, const Evidence& evidence, double seconds);

// Returns a line that explains to users how times are predicted for a benchmark on `resource`.
// Returns `own`, the benchmark's own explanation, if it is not empty. Otherwise, the line names the
// roofline model or, for networks, which have no spec sheet, the model fitted to measured times.
std::string DescribePrediction(const std::string& own, Resource resource);

}  // namespace assay
