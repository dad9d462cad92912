// Predicts the time per iteration of a benchmark with the roofline model, based on its FLOPs and
// bytes, and compares measured times with the prediction.
#pragma once

#include <optional>
#include <string>

#include "model/work.h"
#include "roofline/alpha_beta.h"
#include "roofline/spec_sheet.h"

namespace assay {

// The peak rates, per second, that limit a benchmark. Unknown rates are nullopt. If the work
// depends on an unknown rate, its time cannot be predicted.
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
  // The efficiency of the benchmark: the ideal time divided by the measured time. At 1.0, the
  // benchmark reaches the peak rates. The ideal time excludes the fixed cost of an iteration, such
  // as a kernel launch.
  std::optional<double> efficiency_spec;
  std::optional<double> efficiency_measured;
  std::optional<double> efficiency_clock;
  std::string spec;  // The row used, such as "H200 SXM"; empty without one.
  // The ridge point: the arithmetic intensity, in FLOP per byte, above which the speed is limited
  // by arithmetic rather than memory. `ridge_point` is computed from the peak rates used for the
  // prediction, and `ridge_measured` from the highest measured rates.
  std::optional<double> ridge_point;
  std::optional<double> ridge_measured;
  // The dominant part of an iteration's time, or empty if unknown:
  // - "launch" if the fixed cost, such as a kernel launch, is at least the ideal time or at least
  //   half of the measured time;
  // - otherwise, the resource that limits the ideal time: "compute", "memory", "link" or "cache"
  //   (caches or shared memory).
  // The ideal time is based on measured peak rates if they cover all of the work, otherwise on the
  // spec sheet.
  std::string regime;
  // A latency and bandwidth model fitted to this machine's times for other message sizes, and the
  // time it predicts for this size. Predict() does not set these fields.
  std::optional<AlphaBeta> link_model;
  double link_model_seconds = 0;
};

struct IdealTime {
  double seconds = 0;
  std::string bound;  // The term that determines it, as in Prediction::bound.
};
// Returns the shortest time that the roofline model allows (Williams, Waterman & Patterson 2009).
// Divides each kind of work (FLOPs, bytes in memory, bytes over links, and other work of the
// multiprocessors) by its peak rate, and returns the longest of these times. Returns nullopt if a
// required peak is unknown, because that peak might be the limiting one.
std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks);

// Returns the peak rates for `work` from a GPU's spec sheet: arithmetic, memory bandwidth, and link
// bandwidth in one direction. Also computes the peak rate for Work::sm_amount, at the clock at
// which the GPU reaches its fp32 peak.
Peaks SheetPeaks(const GpuSpec& spec, const Work& work);

// Returns the same as SheetPeaks(), but with the arithmetic peaks that the GPU can reach at an SM
// clock of `mhz`. These equal the number of SMs (multiprocessors) x the rate per SM and clock cycle
// x the clock, or are nullopt if the rate is unknown.
Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz);

// Returns the bandwidth of a GPU's 16-lane PCI Express link, in one direction. Generations 3, 4 and
// 5 transfer 8, 16 and 32 GT/s per lane, and 128 of every 130 bits are data (PCI Express Base
// Specification 5.0). Returns nullopt for other generations, such as 6, which uses a different
// encoding.
std::optional<double> PcieBytesPerSecond(const GpuSpec& spec);

// The facts about a measured case, other than its work, that a prediction uses.
struct Evidence {
  const GpuSpec* spec = nullptr;       // Null without a sheet (CPU, unknown GPU).
  std::optional<double> sm_clock_mhz;  // Observed over the timed window.
  Ceilings ceilings;
  // True if the benchmark's data stays in caches between iterations. In that case, predictions
  // ignore the memory bandwidth, because it does not limit the time.
  bool in_cache = false;
};

// Predicts the time of an iteration and compares it with `seconds`, the median of the measured
// times. Uses the peak rates of the spec sheet or, if there is none, the highest measured rates.
Prediction Predict(const Work& work, const Evidence& evidence, double seconds);

// Returns a line that tells users how times are predicted for a benchmark on `resource`. Returns
// the benchmark's own explanation, `own`, if it is not empty. Otherwise, the line describes the
// roofline model or, for networks, the model fitted to measured times. Networks have no spec sheet.
std::string DescribePrediction(const std::string& own, Resource resource);

}  // namespace assay
