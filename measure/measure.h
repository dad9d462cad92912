// The measurement engine. It warms up, chooses how many iterations form a sample, collects samples
// until there is enough evidence, and reports why it stopped. It does not depend on what it times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/statistics.h"

namespace assay {

// Rules for when to start timing and when to stop. Times are in seconds by the host's clock and
// include the time between samples. The number of iterations in a window is estimated from the
// previous window: from the mean of its samples, or from a tenth of its elapsed time if that is
// more. So a window with wrong samples takes at most ten times as long as planned.
struct MeasureRule {
  // Minimum duration of the warm-up.
  double min_warmup_seconds = 0.1;
  // The warm-up is complete when both of these have settled:
  //   - The medians of three consecutive windows of `settle_window_seconds` each. They must agree
  //     within the relative `settle_tolerance`.
  //   - The hardware readings after these windows (MeasureHooks::readings), such as power. They
  //     must agree within `settle_reading_tolerance`.
  double settle_window_seconds = 0.05;
  double settle_tolerance = 0.005;
  double settle_reading_tolerance = 0.03;
  // The warm-up ends after this time even if it is not complete, or after twice this time if the
  // number of iterations per sample still changes. A window that has begun is completed first.
  double max_warmup_seconds = 2.0;

  // Both must be reached before the evidence is evaluated.
  int64_t min_samples = 30;
  double min_seconds = 0.5;
  // Half the width of the median's 95% confidence interval, relative to the median.
  double target_confidence = 0.005;
  // Stops when the noise (the scaled median absolute deviation divided by the median) has changed
  // by less than this fraction while the number of samples doubled.
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
  // Returns hardware readings, such as power, that must also settle before the warm-up ends. Called
  // after each window of the warm-up. Must return the same readings in the same order each time.
  std::function<std::vector<double>()> readings;
  // Marks the start of the timed window, which contains exactly the reported samples. Called again
  // if the window restarts because samples were much shorter than in the warm-up; the last call
  // counts.
  std::function<void()> window_begins;
  std::function<void()> window_ends;
};

struct MeasuredTimes {
  std::vector<double> seconds;  // Seconds per iteration, one per sample, in order.
  // The number of iterations per sample. It grows at most tenfold from one warm-up window to the
  // next, and when the timed window restarts.
  int64_t batch = 1;
  // Time per iteration, in seconds, by the host's clock over the whole timed window. It includes
  // kernel launches and synchronization.
  double host_seconds = 0;
  double warmup_seconds = 0;
  int64_t warmup_iterations = 0;
  // True if times and hardware readings were stable at the end of the warm-up, or if the rule needs
  // no warm-up. False if the time limit ended the warm-up. If iterations are so long that fewer
  // than three windows fit into that limit, this compares consecutive thirds of the timed samples
  // instead, and the readings after the last two windows.
  bool settled = false;
  // True if the samples are too short: even after the allowed number of restarts with larger
  // batches, the median sample lasts less than half of what the timer needs.
  bool short_samples = false;
  // "confidence", "noise_stable", "time_budget" or "max_samples".
  std::string stop_reason;
};

// Runs a whole measurement on `device` and returns its times. Returns the errors of the device, or
// INTERNAL (BAD_SAMPLE) if a sample is not a positive number.
Result<MeasuredTimes> Measure(TimedDevice& device, const MeasureRule& rule, Clock& clock,
                              const MeasureHooks& hooks = {});

}  // namespace assay
