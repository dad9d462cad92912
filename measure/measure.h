// The measuring engine: warms up, chooses a batch, collects samples until the
// evidence suffices, and says why it stopped. Knows nothing of what it times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/statistics.h"

namespace assay {

// When to begin timing and when to stop. Times are seconds by the engine's clock,
// so they include what lies between samples. How many iterations they have room for is
// estimated from those just run: by their samples' mean, or by a tenth of the clock's time
// for them if that is more. Samples that mislead so cost ten windows at most.
struct MeasureRule {
  // Warm-up lasts at least this long, ...
  double min_warmup_seconds = 0.1;
  // ... then until the medians of three consecutive windows of
  // `settle_window_seconds` lie within `settle_tolerance` of each other, and what the
  // hardware reads (MeasureHooks::readings) after them within
  // `settle_reading_tolerance`, ...
  double settle_window_seconds = 0.05;
  double settle_tolerance = 0.005;
  double settle_reading_tolerance = 0.03;
  // ... and no longer than this, or twice this while the batch still changes; the window
  // under way is finished.
  double max_warmup_seconds = 2.0;

  // No verdict on the evidence before both are reached.
  int64_t min_samples = 30;
  double min_seconds = 0.5;
  // Half the width of the 95% confidence interval of the median, over the median.
  double target_confidence = 0.005;
  // The noise (scaled MAD over median) has stabilised if it moved by less than
  // this, relatively, while the number of samples doubled.
  double noise_tolerance = 0.05;
  // Hard ends.
  double max_seconds = 10.0;
  int64_t max_samples = 5000;
};

// What is timed. Case::Run of one rank, or of a gang seen from rank 0.
class TimedDevice {
 public:
  virtual ~TimedDevice() = default;
  // As Case::Run.
  virtual Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) = 0;
  // As Case::MinSampleSeconds.
  virtual double MinSampleSeconds() const = 0;
  // As Case::UntimedIterations.
  virtual int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const { return 0; }
  // As Case::BatchGranularity.
  virtual int64_t BatchGranularity() const { return 1; }
};

// Told as the engine goes, on its thread. Any may be empty.
struct MeasureHooks {
  std::function<void()> warmup_begins;
  // What must settle beside the times: power. Asked after each window of the
  // warm-up; the same readings in the same order each time.
  std::function<std::vector<double>()> readings;
  // The timed window: exactly the samples that are reported. Told again where it begins anew,
  // since samples turned out much shorter than the warm-up had said; only the last counts.
  std::function<void()> window_begins;
  std::function<void()> window_ends;
};

struct MeasuredTimes {
  std::vector<double> seconds;  // One a sample, an iteration, in order.
  // Iterations a sample. Grows tenfold from one window of the warm-up to the next at most, and
  // where the timed window begins anew.
  int64_t batch = 1;
  // Of an iteration by the engine's clock, over the whole timed window: what the
  // host waits for, launches and synchronisation included.
  double host_seconds = 0;
  double warmup_seconds = 0;
  int64_t warmup_iterations = 0;
  // Times and readings had settled when the warm-up ended, or the rule wants no warm-up;
  // else its bound ended it. Where iterations are so long that the bound left fewer than
  // three windows to compare, the timed samples tell instead, their consecutive thirds, and
  // the readings after the last two windows.
  bool settled = false;
  // The samples last less than half of what the timer needs, in the median, though the window
  // was begun anew with larger batches as often as may be.
  bool short_samples = false;
  // "confidence", "noise_stable", "time_budget" or "max_samples".
  std::string stop_reason;
};

// The error is the device's, or INTERNAL (BAD_SAMPLE) for a sample that is not a
// positive number.
Result<MeasuredTimes> Measure(TimedDevice& device, const MeasureRule& rule, Clock& clock,
                              const MeasureHooks& hooks = {});

}  // namespace assay
