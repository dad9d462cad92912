// The measuring engine: warms up, chooses a batch size, collects samples until the evidence
// suffices, and reports why it stopped. Independent of what it times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/statistics.h"

namespace assay {

// When to start timing and when to stop. Times are seconds by the engine's clock and include the
// time between samples. The number of iterations per window is estimated from the previous window:
// by the mean of its samples, or by a tenth of the clock's time if that is more. Misleading samples
// therefore cost ten windows at most.
struct MeasureRule {
  // Warm-up lasts at least this long, ...
  double min_warmup_seconds = 0.1;
  // ... then until the medians of three consecutive windows of `settle_window_seconds` are within
  // `settle_tolerance` of each other, and the hardware's readings (MeasureHooks::readings) after
  // them within `settle_reading_tolerance`, ...
  double settle_window_seconds = 0.05;
  double settle_tolerance = 0.005;
  double settle_reading_tolerance = 0.03;
  // ... and no longer than this, or twice this while the batch still changes; the current window is
  // completed.
  double max_warmup_seconds = 2.0;

  // Both must be reached before the evidence is evaluated.
  int64_t min_samples = 30;
  double min_seconds = 0.5;
  // Half the width of the median's 95% confidence interval, relative to the median.
  double target_confidence = 0.005;
  // The noise (scaled MAD over median) is stable if it changed by less than this fraction while the
  // number of samples doubled.
  double noise_tolerance = 0.05;
  // Hard limits.
  double max_seconds = 10.0;
  int64_t max_samples = 5000;
};

// The work to time: Case::Run of one rank, or of a gang as seen from rank 0.
class TimedDevice {
 public:
  virtual ~TimedDevice() = default;
  // Like Case::Run.
  virtual Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) = 0;
  // Like Case::MinSampleSeconds.
  virtual double MinSampleSeconds() const = 0;
  // Like Case::UntimedIterations.
  virtual int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const { return 0; }
  // Like Case::BatchGranularity.
  virtual int64_t BatchGranularity() const { return 1; }
};

// Callbacks, called on the engine's thread. Any may be empty.
struct MeasureHooks {
  std::function<void()> warmup_begins;
  // Returns readings that must settle in addition to the times, such as power. Called after each
  // window of the warm-up; returns the same readings in the same order each time.
  std::function<std::vector<double>()> readings;
  // Marks the start of the timed window, which contains exactly the reported samples. Called again
  // if the window restarts because samples turned out much shorter than the warm-up suggested; only
  // the last call counts.
  std::function<void()> window_begins;
  std::function<void()> window_ends;
};

struct MeasuredTimes {
  std::vector<double> seconds;  // Seconds per iteration, one per sample, in order.
  // Iterations per sample. Grows at most tenfold between windows of the warm-up, and when the timed
  // window restarts.
  int64_t batch = 1;
  // Time per iteration by the engine's clock over the whole timed window: the host's view,
  // including launches and synchronisation.
  double host_seconds = 0;
  double warmup_seconds = 0;
  int64_t warmup_iterations = 0;
  // True if times and readings had settled when the warm-up ended, or if the rule needs no warm-up;
  // false if the time limit ended it. If iterations are so long that fewer than three windows fit
  // into the limit, the consecutive thirds of the timed samples are compared instead, and the
  // readings after the last two windows.
  bool settled = false;
  // True if the median sample lasts less than half of what the timer needs, although the window was
  // restarted with larger batches as often as allowed.
  bool short_samples = false;
  // "confidence", "noise_stable", "time_budget" or "max_samples".
  std::string stop_reason;
};

// Measures. Errors are the device's, or INTERNAL (BAD_SAMPLE) for a sample that is not a positive
// number.
Result<MeasuredTimes> Measure(TimedDevice& device, const MeasureRule& rule, Clock& clock,
                              const MeasureHooks& hooks = {});

}  // namespace assay
