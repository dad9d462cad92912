#include "measure/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace assay {
namespace {

constexpr int64_t kMaxBatch = int64_t{1} << 20;
// The minimum number of windows (series of samples) in the warm-up: the first window, which has
// only one sample, plus the three windows whose medians are compared.
constexpr size_t kSettleWindows = 4;
// A safeguard against samples too short for the timer, whose times are inaccurate. The number of
// iterations per sample grows by at most this factor at a time, and a series of samples takes at
// most this factor times its planned duration.
constexpr int64_t kMaxGrowth = 10;
// The maximum number of times that the timed window restarts because samples are too short.
constexpr int kMostNewBatches = 3;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A single measurement, from the warm-up to the last sample.
class Engine {
 public:
  Engine(TimedDevice& device, const MeasureRule& rule, Clock& clock, const MeasureHooks& hooks)
      : device_(device),
        rule_(rule),
        clock_(clock),
        hooks_(hooks),
        granularity_(std::max<int64_t>(device.BatchGranularity(), 1)) {
    // The minimum duration of a sample. It must be long enough for the timer's resolution, and for
    // max_samples samples to take at least min_seconds.
    min_sample_seconds_ =
        std::max(device.MinSampleSeconds(),
                 rule.min_seconds / static_cast<double>(std::max<int64_t>(rule.max_samples, 1)));
    times_.batch = granularity_;
  }

  Status WarmUp() {
    begin_ = clock_.Now();
    for (;;) {
      // The first window has one sample, because the time of an iteration is still unknown.
      const int64_t samples = windows_.empty() ? 1 : SamplesIn(rule_.settle_window_seconds);
      std::vector<double> window;
      ASSAY_RETURN_IF_ERROR(RunChunk(samples, &window));
      times_.warmup_iterations += samples * times_.batch;
      windows_.push_back(MedianOf(window));
      readings_.push_back(hooks_.readings ? hooks_.readings() : std::vector<double>());
      times_.warmup_seconds = Seconds(clock_.Now() - begin_);
      const int64_t batch = BatchFor(windows_.back());
      // If the number of iterations per sample (the batch) has changed, take another window (series
      // of samples). The time limit keeps noise from changing the batch over and over.
      const bool rebatched =
          batch != times_.batch && times_.warmup_seconds < 2 * rule_.max_warmup_seconds;
      if (rebatched) times_.batch = batch;
      times_.settled = rule_.max_warmup_seconds <= 0 || (SettledInWarmUp() && ReadingsAgree(3));
      const bool may_end = times_.settled && times_.warmup_seconds >= rule_.min_warmup_seconds;
      if (rebatched || (!may_end && times_.warmup_seconds < rule_.max_warmup_seconds)) continue;
      return Status::Ok();
    }
  }

  // Collects timed samples until there is enough evidence, after which Done() returns true. If most
  // samples turn out to be too short, returns early, while Done() still returns false. The caller
  // must then call NewBatch() and Collect() again.
  Status Collect() {
    const MonotonicTime begin = clock_.Now();
    double elapsed = 0;
    int64_t iterations = 0;
    while (times_.stop_reason.empty()) {
      const double chunk_seconds = std::min(std::max(rule_.settle_window_seconds, 0.1 * elapsed),
                                            rule_.max_seconds - elapsed);
      const int64_t left = rule_.max_samples - static_cast<int64_t>(times_.seconds.size());
      const int64_t samples = std::clamp<int64_t>(SamplesIn(chunk_seconds), 1, left);
      ASSAY_RETURN_IF_ERROR(RunChunk(samples, &times_.seconds));
      if (new_batches_left_ > 0 && AreTooShort(times_.seconds)) return Status::Ok();
      iterations += IterationsOf(samples);
      elapsed = Seconds(clock_.Now() - begin);
      times_.stop_reason = StopReason(elapsed);
    }
    // After a restart, the warm-up's times are not comparable with the samples.
    const bool anew = new_batches_left_ < kMostNewBatches;
    if (anew || (!times_.settled && windows_.size() < kSettleWindows)) {
      times_.settled = SettledInWindow() && ReadingsAgree(2);
    }
    times_.short_samples = AreTooShort(times_.seconds);
    times_.host_seconds = elapsed / static_cast<double>(iterations);
    return Status::Ok();
  }

  bool Done() const { return !times_.stop_reason.empty(); }

  // Restarts the timed window with more iterations per sample (a larger batch). Discards the
  // samples taken so far and the first series of samples with the new batch. The iterations of both
  // count as warm-up.
  Status NewBatch() {
    --new_batches_left_;
    std::vector<double> window = std::exchange(times_.seconds, {});
    noise_.clear();
    times_.warmup_iterations += static_cast<int64_t>(window.size()) * times_.batch;
    times_.batch = BatchFor(MedianOf(std::move(window)));
    const int64_t samples = SamplesIn(rule_.settle_window_seconds);
    std::vector<double> discarded;
    ASSAY_RETURN_IF_ERROR(RunChunk(samples, &discarded));
    times_.warmup_iterations += samples * times_.batch;
    times_.warmup_seconds = Seconds(clock_.Now() - begin_);
    return Status::Ok();
  }

  MeasuredTimes TakeTimes() { return std::move(times_); }

 private:
  struct NoiseAt {
    int64_t n;
    double noise;
  };

  Status RunChunk(int64_t samples, std::vector<double>* seconds) {
    const size_t before = seconds->size();
    const MonotonicTime begin = clock_.Now();
    ASSAY_RETURN_IF_ERROR(device_.Run(samples, times_.batch, seconds));
    const double host_seconds = Seconds(clock_.Now() - begin);
    if (seconds->size() != before + static_cast<size_t>(samples)) {
      return Internal("the benchmark was asked for " + std::to_string(samples) +
                          " samples and gave " + std::to_string(seconds->size() - before),
                      Reason::kBadSample);
    }
    for (size_t i = before; i < seconds->size(); ++i) {
      const double sample = (*seconds)[i];
      if (std::isfinite(sample) && sample > 0) continue;
      return Internal("sample " + std::to_string(i) + " is " + std::to_string(sample) +
                          " s, not a positive time",
                      Reason::kBadSample);
    }
    // Record the time of an iteration to plan the duration of the next series. A series takes as
    // long as all of its samples together, so use their mean rather than their median.
    const double sum =
        std::accumulate(seconds->end() - static_cast<std::ptrdiff_t>(samples), seconds->end(), 0.0);
    iteration_seconds_ =
        std::max(sum / static_cast<double>(samples),
                 host_seconds / static_cast<double>(kMaxGrowth * IterationsOf(samples)));
    return Status::Ok();
  }

  // Returns the total number of iterations, timed and untimed, that the device runs for `samples`
  // samples.
  int64_t IterationsOf(int64_t samples) const {
    return device_.UntimedIterations(samples, times_.batch) + samples * times_.batch;
  }

  int64_t SamplesIn(double seconds) const {
    const double one = iteration_seconds_ * static_cast<double>(times_.batch);
    return std::clamp<int64_t>(static_cast<int64_t>(std::min(seconds / one, 1e9)), 1,
                               std::max<int64_t>(rule_.max_samples, 1));
  }

  // Returns the number of iterations per sample for the given time of one iteration. Keeps the
  // current number as long as a sample takes one to two times the minimum duration, so that noise
  // does not change it.
  int64_t BatchFor(double iteration_seconds) const {
    const double sample = iteration_seconds * static_cast<double>(times_.batch);
    const bool long_enough = sample >= min_sample_seconds_;
    if (long_enough && (times_.batch == granularity_ || sample <= 2 * min_sample_seconds_)) {
      return times_.batch;
    }
    // Aims at 1.5 times the minimum duration, which leaves room for noise in both directions.
    const double batch = std::ceil(1.5 * min_sample_seconds_ / iteration_seconds);
    if (iteration_seconds >= min_sample_seconds_) return granularity_;
    const int64_t most = std::min(kMaxBatch, kMaxGrowth * times_.batch);
    const auto wanted = static_cast<int64_t>(std::min(batch, static_cast<double>(most)));
    return (wanted + granularity_ - 1) / granularity_ * granularity_;
  }

  // Returns true if most samples take less than half the minimum duration, for example because the
  // host was busy only during the warm-up. Returns false if there are fewer than min_samples
  // samples.
  bool AreTooShort(const std::vector<double>& seconds) const {
    if (static_cast<int64_t>(seconds.size()) < rule_.min_samples) return false;
    return 2 * MedianOf(seconds) * static_cast<double>(times_.batch) < min_sample_seconds_;
  }

  // Returns true if the medians of three consecutive windows differ by at most the tolerance.
  bool Agree(const double* medians) const {
    const auto [low, high] = std::minmax_element(medians, medians + 3);
    return *high - *low <= rule_.settle_tolerance * *low;
  }

  bool SettledInWarmUp() const {
    return windows_.size() >= kSettleWindows && Agree(windows_.data() + windows_.size() - 3);
  }

  // Returns true if times have settled according to the timed samples: the medians of their first,
  // second and last thirds agree. Used if the warm-up cannot decide this. If there are fewer than
  // three samples, the medians of the last warm-up windows are prepended.
  bool SettledInWindow() const {
    std::vector<double> samples = times_.seconds;
    for (auto window = windows_.rbegin(); samples.size() < 3 && window != windows_.rend();
         ++window) {
      samples.insert(samples.begin(), *window);
    }
    if (samples.size() < 3) return false;
    const size_t n = samples.size();
    double medians[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      const auto at = [&](size_t third) {
        return samples.begin() + static_cast<std::ptrdiff_t>(third * n / 3);
      };
      medians[i] = MedianOf({at(i), at(i + 1)});
    }
    return Agree(medians);
  }

  // Returns true if every hardware reading, such as power, has settled. Readings are taken after
  // each warm-up window, and the last `windows` of them must agree (or all of them, if there are
  // fewer). A reading that is sometimes missing has not settled.
  bool ReadingsAgree(size_t windows) const {
    const auto& last = readings_.back();
    const auto first =
        readings_.end() - static_cast<std::ptrdiff_t>(std::min(windows, readings_.size()));
    for (size_t i = 0; i < last.size(); ++i) {
      double low = last[i];
      double high = last[i];
      for (auto window = first; window != readings_.end(); ++window) {
        if (window->size() != last.size()) return false;
        low = std::min(low, (*window)[i]);
        high = std::max(high, (*window)[i]);
      }
      if (high - low > rule_.settle_reading_tolerance * high) return false;
    }
    return true;
  }

  // Returns the reason to stop after `elapsed` seconds, or "" if more samples are needed.
  std::string StopReason(double elapsed) {
    const auto n = static_cast<int64_t>(times_.seconds.size());
    if (n >= rule_.min_samples) {
      const Summary summary = Summarize(times_.seconds);
      noise_.push_back({n, summary.RelativeNoise()});
      if (elapsed >= rule_.min_seconds) {
        if (summary.RelativeConfidence() <= rule_.target_confidence) return "confidence";
        if (NoiseIsStable()) return "noise_stable";
      }
    }
    if (n >= rule_.max_samples) return "max_samples";
    const bool enough = n >= rule_.min_samples && elapsed >= rule_.min_seconds;
    if (enough && Seconds(clock_.Now() - begin_) >= rule_.total_seconds) return "time_budget";
    if (elapsed >= rule_.max_seconds) return "time_budget";
    return "";
  }

  bool NoiseIsStable() const {
    const NoiseAt last = noise_.back();
    double low = last.noise;
    double high = last.noise;
    for (auto entry = noise_.rbegin(); entry != noise_.rend(); ++entry) {
      low = std::min(low, entry->noise);
      high = std::max(high, entry->noise);
      if (entry->n <= last.n / 2) return high - low <= rule_.noise_tolerance * high;
    }
    return false;  // The number of samples has not doubled yet.
  }

  TimedDevice& device_;
  const MeasureRule rule_;
  Clock& clock_;
  const MeasureHooks& hooks_;
  const int64_t granularity_;  // Batches are multiples of it.
  double min_sample_seconds_ = 0;
  MonotonicTime begin_{};  // Start of the warm-up.
  int new_batches_left_ = kMostNewBatches;
  double iteration_seconds_ = 1;               // Estimated from the last chunk.
  std::vector<double> windows_;                // Medians of the warm-up's windows.
  std::vector<std::vector<double>> readings_;  // Readings after each window.
  MeasuredTimes times_;
  std::vector<NoiseAt> noise_;
};

}  // namespace

const char* EffortWord(Effort effort) {
  switch (effort) {
    case Effort::kQuick:
      return "quick";
    case Effort::kThorough:
      return "thorough";
    default:
      return "standard";
  }
}

Result<Effort> ParseEffort(const std::string& word) {
  for (const Effort effort : {Effort::kQuick, Effort::kStandard, Effort::kThorough}) {
    if (word == EffortWord(effort)) return effort;
  }
  return InvalidArgument("effort must be quick, standard or thorough, not \"" + word + "\"");
}

void ApplyEffort(Effort effort, MeasureRule* rule) {
  if (effort == Effort::kStandard || rule->min_seconds >= rule->max_seconds) return;
  if (effort == Effort::kQuick) {
    rule->settle_window_seconds = std::min(rule->settle_window_seconds, 0.05);
    rule->min_warmup_seconds = std::min(rule->min_warmup_seconds, 0.2);
    rule->max_warmup_seconds = std::min(rule->max_warmup_seconds, 0.4);
    rule->min_samples = std::min<int64_t>(rule->min_samples, 10);
    rule->min_seconds = std::min(rule->min_seconds, 0.2);
    rule->target_confidence = std::max(rule->target_confidence, 0.02);
    rule->max_seconds = std::min(rule->max_seconds, 0.6);
    rule->total_seconds = 1.0;
    return;
  }
  rule->max_warmup_seconds *= 2;
  rule->min_seconds *= 4;
  rule->max_samples *= 4;
  rule->target_confidence /= 5;
  rule->noise_tolerance /= 5;
  rule->max_seconds *= 3;
  rule->total_seconds = rule->max_warmup_seconds + rule->max_seconds;
}

Result<MeasuredTimes> Measure(TimedDevice& device, const MeasureRule& rule, Clock& clock,
                              const MeasureHooks& hooks) {
  Engine engine(device, rule, clock, hooks);
  if (hooks.warmup_begins) hooks.warmup_begins();
  ASSAY_RETURN_IF_ERROR(engine.WarmUp());
  for (;;) {
    if (hooks.window_begins) hooks.window_begins();
    const Status collected = engine.Collect();
    if (hooks.window_ends) hooks.window_ends();
    ASSAY_RETURN_IF_ERROR(collected);
    if (engine.Done()) return engine.TakeTimes();
    ASSAY_RETURN_IF_ERROR(engine.NewBatch());
  }
}

}  // namespace assay
