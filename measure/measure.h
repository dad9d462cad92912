// The measurement engine for all kinds of benchmarks. It warms up, chooses the number of iterations
// per sample, collects samples until there is enough evidence, and reports why it stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/statistics.h"

namespace assay {

// The conditions for starting and stopping the timing of a benchmark. Durations are in seconds of
// the host's clock and include the time between samples. Samples are taken in series called
// windows. The number of iterations in a window is planned from the times in the previous one. In
// case these are wrong, a window takes at most ten times its planned duration.
struct MeasureRule {
  // Minimum duration of the warm-up.
  double min_warmup_seconds = 0.1;
  // The warm-up is complete when both of these have settled:
  //   - Times: the medians of three consecutive windows, each of `settle_window_seconds`, differ by
  //     at most the fraction `settle_tolerance`.
  //   - Hardware readings, such as power: the values read after these windows differ by at most the
  //     fraction `settle_reading_tolerance`.
  double settle_window_seconds = 0.05;
  double settle_tolerance = 0.005;
  double settle_reading_tolerance = 0.03;
  // The warm-up ends after this time even if it is not complete. It may take twice as long while
  // the number of iterations per sample is still changing. The current window (a series of samples)
  // is always finished.
  double max_warmup_seconds = 2.0;

  // The minimum number of samples and the minimum duration in seconds. Until both are reached, only
  // the hard limits below can end the measurement.
  int64_t min_samples = 30;
  double min_seconds = 0.5;
  // The measurement stops when half the width of the median's 95% confidence interval is at most
  // this fraction of the median.
  double target_confidence = 0.005;
  // The measurement stops when the noise has changed by less than this fraction while the number of
  // samples doubled. The noise is the scaled median absolute deviation divided by the median.
  double noise_tolerance = 0.05;
  // The time limit of a measurement, including the warm-up. Once it has passed, the measurement
  // stops as soon as min_samples and min_seconds have been reached.
  double total_seconds = 4.0;
  // Hard limits.
  double max_seconds = 10.0;
  int64_t max_samples = 5000;
};

// The time that a measurement may take to become more precise.
enum class Effort {
  kQuick,     // About 1 s in total.
  kStandard,  // The rule as it is.
  kThorough,  // For differences of less than a percent.
};

// Returns "quick", "standard" or "thorough".
const char* EffortWord(Effort effort);

// Returns the effort for a word that EffortWord() returns, or INVALID_ARGUMENT for other words.
Result<Effort> ParseEffort(const std::string& word);

// Adjusts `rule`, a rule for standard effort, to `effort`. Does not change a rule whose minimum and
// maximum duration are equal, because users set that duration with the benchmark's parameters.
void ApplyEffort(Effort effort, MeasureRule* rule);

// The work to time: the iterations of one rank (process) or, if the benchmark has several ranks,
// those of all ranks as seen from rank 0.
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

// Callbacks that Measure() calls on its own thread. Any of them may be empty.
struct MeasureHooks {
  std::function<void()> warmup_begins;
  // Returns hardware readings, such as power, that must also settle before the warm-up ends. Called
  // after each warm-up window. Must return the same readings in the same order each time.
  std::function<std::vector<double>()> readings;
  // Called at the start of the timed window, and again if the window restarts because samples turn
  // out much shorter than in the warm-up. The result contains exactly the samples taken after the
  // last call.
  std::function<void()> window_begins;
  std::function<void()> window_ends;
};

struct MeasuredTimes {
  std::vector<double> seconds;  // Seconds per iteration, one per sample, in order.
  // The number of iterations per sample. It grows at most tenfold at a time, either between warm-up
  // windows or when the timed window restarts.
  int64_t batch = 1;
  // The time per iteration, in seconds, measured by the host's clock over the entire timed window.
  // Includes kernel launches and synchronization.
  double host_seconds = 0;
  double warmup_seconds = 0;
  int64_t warmup_iterations = 0;
  // True if times and hardware readings were stable at the end of the warm-up, or if the rule has
  // no warm-up. If the warm-up was too short to tell, or the timed window was restarted, the timed
  // samples decide instead: the medians of their first, second and last thirds must agree, and so
  // must the hardware readings after the last two warm-up windows.
  bool settled = false;
  // True if most samples are too short to be timed accurately (less than half the minimum
  // duration), even though the measurement has been restarted with more iterations per sample as
  // often as allowed.
  bool short_samples = false;
  // The condition that ended the measurement: "confidence", "noise_stable", "time_budget" or
  // "max_samples".
  std::string stop_reason;
};

// Measures `device`, from the warm-up to the last sample, and returns the times. Fails with any
// error from `device`, and with INTERNAL (BAD_SAMPLE) if a sample is not a positive number.
Result<MeasuredTimes> Measure(TimedDevice& device, const MeasureRule& rule, Clock& clock,
                              const MeasureHooks& hooks = {});

}  // namespace assay
