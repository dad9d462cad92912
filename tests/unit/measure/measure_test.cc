#include "measure/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <tuple>

#include "tests/virtual_clock.h"

namespace assay {
namespace {

// A device whose iterations last as long as `model` says. Only iterations advance its clock.
class VirtualDevice : public TimedDevice {
 public:
  // `model` maps the number of iterations run so far to seconds.
  explicit VirtualDevice(std::function<double(int64_t)> model) : model_(std::move(model)) {}

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    batches.push_back(batch);
    for (int64_t i = 0; i < samples; ++i) {
      double total = 0;
      for (int64_t j = 0; j < batch; ++j) total += model_(iterations++);
      if (std::isfinite(total) && total > 0) {
        clock.Advance(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(total)));
      }
      seconds->push_back(total / static_cast<double>(batch));
    }
    return Status::Ok();
  }
  double MinSampleSeconds() const override { return 20e-6; }
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return lead; }
  int64_t BatchGranularity() const override { return granularity; }

  VirtualClock clock;
  int64_t granularity = 1;
  int64_t lead = 0;  // Reported by UntimedIterations; the test advances the clock for them.
  int64_t iterations = 0;
  std::vector<int64_t> batches;

 private:
  std::function<double(int64_t)> model_;
};

std::function<double(int64_t)> Noisy(double seconds, double relative) {
  auto random = std::make_shared<std::mt19937_64>(3);
  return [=](int64_t) {
    return seconds * (1 + relative * std::fabs(std::normal_distribution<double>()(*random)));
  };
}

TEST(Measure, SteadyDeviceStopsOnConfidenceAfterHalfASecond) {
  VirtualDevice device([](int64_t) { return 1e-3; });
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->stop_reason, "confidence");
  EXPECT_EQ(times->batch, 1);
  EXPECT_GE(times->seconds.size(), 500u);
  EXPECT_LT(times->seconds.size(), 700u);
  EXPECT_GE(times->warmup_seconds, 0.1);
  EXPECT_EQ(static_cast<int64_t>(times->seconds.size()) + times->warmup_iterations,
            device.iterations);
}

TEST(Measure, SlowDeviceStillGetsThirtySamples) {
  VirtualDevice device([](int64_t) { return 0.1; });
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "confidence");
  EXPECT_EQ(times->seconds.size(), 30u);
}

TEST(Measure, VerySlowDeviceEndsWithItsBudget) {
  VirtualDevice device([](int64_t) { return 4.0; });
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "time_budget");
  EXPECT_EQ(times->seconds.size(), 3u);
  EXPECT_EQ(times->warmup_iterations, 1);
}

// These iterations are so long that a warm-up of 2 s has no room for three windows after the cold
// one. The timed samples then decide whether the device has settled.
TEST(Measure, LongIterationsSettleByTheirSamples) {
  for (const double seconds : {0.7, 1.5, 4.0, 6.0}) {
    VirtualDevice steady([=](int64_t i) { return seconds * (i == 0 ? 1.001 : 1); });
    const auto times = Measure(steady, MeasureRule(), steady.clock);
    ASSERT_TRUE(times.ok());
    EXPECT_TRUE(times->settled) << seconds;
    VirtualDevice drifting(
        [=](int64_t i) { return seconds * (1 + 0.01 * static_cast<double>(i)); });
    const auto drift = Measure(drifting, MeasureRule(), drifting.clock);
    ASSERT_TRUE(drift.ok());
    EXPECT_FALSE(drift->settled) << seconds;
  }
}

// Iterations of 1.5 s leave two readings before the window.
TEST(Measure, ReadingsCountForLongIterationsToo) {
  for (const double second_reading : {610.0, 690.0}) {
    VirtualDevice device([](int64_t) { return 1.5; });
    MeasureHooks hooks;
    hooks.readings = [&] {
      return std::vector<double>{device.iterations == 1 ? 600 : second_reading};
    };
    const auto times = Measure(device, MeasureRule(), device.clock, hooks);
    ASSERT_TRUE(times.ok());
    EXPECT_EQ(times->settled, second_reading < 620);
  }
}

TEST(Measure, StationaryNoiseStopsWhenItHasStabilised) {
  VirtualDevice device(Noisy(1e-3, 0.2));
  MeasureRule rule;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "noise_stable");
  EXPECT_GE(times->seconds.size(), 60u);
}

// Noise that grows without end, so that neither confidence nor stable noise ends a measurement.
std::function<double(int64_t)> GrowingNoise(double seconds) {
  auto random = std::make_shared<std::mt19937_64>(7);
  return [=](int64_t i) {
    const double spread = 1e-3 * std::sqrt(static_cast<double>(i));
    return seconds * std::exp(spread * std::normal_distribution<double>()(*random));
  };
}

double SecondsToMeasure(VirtualDevice& device, Effort effort) {
  MeasureRule rule;
  rule.noise_tolerance = 0;
  rule.target_confidence = 0;
  rule.max_samples = 1'000'000'000;
  ApplyEffort(effort, &rule);
  rule.target_confidence = 0;
  const MonotonicTime begin = device.clock.Now();
  const auto times = Measure(device, rule, device.clock);
  EXPECT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "time_budget");
  return std::chrono::duration<double>(device.clock.Now() - begin).count();
}

TEST(MeasureEffort, NoisySmallKernel_EndsWithinTheBoundOfItsEffort) {
  for (const auto& [effort, least, most] :
       {std::tuple(Effort::kQuick, 0.7, 1.2), std::tuple(Effort::kStandard, 3.9, 4.4),
        std::tuple(Effort::kThorough, 25.0, 35.0)}) {
    VirtualDevice device(GrowingNoise(2e-3));
    const double seconds = SecondsToMeasure(device, effort);
    EXPECT_GE(seconds, least) << EffortWord(effort);
    EXPECT_LE(seconds, most) << EffortWord(effort);
  }
}

TEST(MeasureEffort, LongIterations_StandardTakesItsSamples_QuickDoesNotWait) {
  VirtualDevice standard(GrowingNoise(0.25));
  EXPECT_GT(SecondsToMeasure(standard, Effort::kStandard), 7.5);
  VirtualDevice quick(GrowingNoise(0.25));
  EXPECT_LT(SecondsToMeasure(quick, Effort::kQuick), 2.0);
}

TEST(MeasureEffort, FixedDurationIsNotChanged) {
  for (const Effort effort : {Effort::kQuick, Effort::kThorough}) {
    MeasureRule rule;
    rule.min_seconds = rule.max_seconds = 60;
    ApplyEffort(effort, &rule);
    EXPECT_EQ(rule.min_seconds, 60);
    EXPECT_EQ(rule.max_seconds, 60);
  }
}

TEST(MeasureEffort, WordsAreParsed) {
  for (const Effort effort : {Effort::kQuick, Effort::kStandard, Effort::kThorough}) {
    EXPECT_EQ(*ParseEffort(EffortWord(effort)), effort);
  }
  EXPECT_EQ(ParseEffort("fast").status().code(), Code::kInvalidArgument);
}

TEST(Measure, GrowingNoiseHitsTheTimeBudget) {
  auto random = std::make_shared<std::mt19937_64>(5);
  VirtualDevice device([=](int64_t i) {
    const double spread = 1e-3 * static_cast<double>(i);
    return 20e-3 * std::exp(spread * std::normal_distribution<double>()(*random));
  });
  MeasureRule rule;
  rule.target_confidence = 1e-6;
  rule.noise_tolerance = 1e-3;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "time_budget");
}

TEST(Measure, ShortIterationsAreBatched) {
  VirtualDevice device([](int64_t) { return 1e-6; });
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_GE(static_cast<double>(times->batch) * 1e-6, 100e-6);
  EXPECT_LE(static_cast<double>(times->batch) * 1e-6, 200e-6);
  EXPECT_NEAR(times->seconds.front(), 1e-6, 1e-9);
  // The batch of the timed window was in use before the window began.
  EXPECT_EQ(device.batches[device.batches.size() / 2], times->batch);
}

TEST(Measure, BatchesAreWholeReplays) {
  for (const double seconds : {1e-6, 30e-6, 1e-3}) {
    VirtualDevice device([=](int64_t) { return seconds; });
    device.granularity = 7;
    const auto times = Measure(device, MeasureRule(), device.clock);
    ASSERT_TRUE(times.ok());
    for (const int64_t batch : device.batches) EXPECT_EQ(batch % 7, 0);
    EXPECT_GE(static_cast<double>(times->batch) * seconds, 20e-6);
    EXPECT_NEAR(times->seconds.front(), seconds, seconds * 1e-3);
  }
}

TEST(Measure, HostTimeIsThatOfTheWholeWindow) {
  // The device's own times do not include the millisecond between iterations.
  class Gaps : public VirtualDevice {
   public:
    Gaps() : VirtualDevice([](int64_t) { return 1e-3; }) {}
    Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
      clock.Advance(std::chrono::milliseconds(samples * batch));
      return VirtualDevice::Run(samples, batch, seconds);
    }
  };
  Gaps device;
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(times->seconds.front(), 1e-3, 1e-9);
  EXPECT_NEAR(times->host_seconds, 2e-3, 1e-9);
}

TEST(Measure, HostTimeCountsUntimedIterations) {
  // Each call begins with an iteration that belongs to no sample.
  class Led : public VirtualDevice {
   public:
    Led() : VirtualDevice([](int64_t) { return 50e-3; }) { lead = 1; }
    Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
      clock.Advance(std::chrono::milliseconds(50));
      return VirtualDevice::Run(samples, batch, seconds);
    }
  };
  Led device;
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(times->host_seconds, 50e-3, 1e-6);
}

TEST(Measure, HostTimeCountsUntimedIterationsOfSamples) {
  // Each sample comes after an untimed call, as in nccl-tests' loops.
  class Loops : public VirtualDevice {
   public:
    Loops() : VirtualDevice([](int64_t) { return 50e-3; }) {}
    Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
      clock.Advance(samples * std::chrono::milliseconds(50));
      return VirtualDevice::Run(samples, batch, seconds);
    }
    int64_t UntimedIterations(int64_t samples, int64_t /*batch*/) const override { return samples; }
  };
  Loops device;
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(times->host_seconds, 50e-3, 1e-6);
}

TEST(Measure, WarmUpWaitsUntilReadingsSettle) {
  VirtualDevice device([](int64_t) { return 1e-3; });
  const auto power = [&] {
    const double seconds = static_cast<double>(device.iterations) * 1e-3;
    return std::vector<double>{1980, 700 - 500 * std::exp(-seconds / 0.3)};
  };
  MeasureHooks hooks;
  hooks.readings = power;
  double power_at_begin = 0;
  hooks.window_begins = [&] { power_at_begin = power()[1]; };
  const auto times = Measure(device, MeasureRule(), device.clock, hooks);
  ASSERT_TRUE(times.ok());
  EXPECT_TRUE(times->settled);
  EXPECT_GT(power_at_begin, 650);
}

TEST(Measure, ReadingsThatNeverSettleEndAtTheTimeLimit) {
  VirtualDevice device([](int64_t) { return 1e-3; });
  MeasureHooks hooks;
  bool high = false;
  hooks.readings = [&] { return std::vector<double>{(high = !high) ? 700.0 : 600.0}; };
  const auto times = Measure(device, MeasureRule(), device.clock, hooks);
  ASSERT_TRUE(times.ok());
  EXPECT_FALSE(times->settled);
  EXPECT_GE(times->warmup_seconds, MeasureRule().max_warmup_seconds);
}

// Makes 100 runs of one device with the noise of a GPU: a clock that wanders by half a percent over
// seconds, and a jitter of one percent.
TEST(Measure, RepeatedRunsAgreeAndASlowdownShows) {
  const auto median_of_run = [](uint64_t seed, double slowdown) {
    auto random = std::make_shared<std::mt19937_64>(seed);
    const double phase = std::uniform_real_distribution<double>(0, 6.28)(*random);
    VirtualDevice device([=](int64_t i) {
      const double wander = 0.0025 * std::sin(phase + static_cast<double>(i) * 200e-6 / 0.7);
      const double jitter = 0.01 * std::normal_distribution<double>()(*random);
      return 200e-6 * slowdown * (1 + wander + jitter);
    });
    const auto times = Measure(device, MeasureRule(), device.clock);
    return times.ok() ? Summarize(times->seconds).median : 0.0;
  };
  std::vector<double> deviations;
  int seen = 0;
  for (uint64_t run = 0; run < 100; ++run) {
    const double same = median_of_run(2 * run, 1.0);
    deviations.push_back(std::fabs(same - 200e-6) / 200e-6);
    if (median_of_run(2 * run + 1, 1.03) / same > 1.015) ++seen;
  }
  EXPECT_LE(Summarize(deviations).p95, 0.01);
  EXPECT_GE(seen, 95);
}

TEST(Measure, WarmUpOutlastsASlowStart) {
  // The device is 10% slower at first and settles over 200 iterations of 5 ms.
  VirtualDevice device(
      [](int64_t i) { return 5e-3 * (1 + 0.1 * std::exp(-static_cast<double>(i) / 50)); });
  MeasureRule rule;
  rule.max_warmup_seconds = 5;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_LT(times->seconds.front(), 5e-3 * 1.01);
  EXPECT_GT(times->warmup_iterations, 100);
}

TEST(Measure, WarmUpIsBoundedUnderEndlessDrift) {
  VirtualDevice device([](int64_t i) { return 5e-3 * (1 + 0.01 * static_cast<double>(i)); });
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_LT(times->warmup_seconds, 2.2);
  EXPECT_FALSE(times->stop_reason.empty());
}

TEST(Measure, MaxSamplesEnds) {
  VirtualDevice device(Noisy(1e-3, 0.5));
  MeasureRule rule;
  rule.max_samples = 100;
  rule.min_seconds = 0.05;
  rule.target_confidence = 0;
  rule.noise_tolerance = 0;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "max_samples");
  EXPECT_EQ(times->seconds.size(), 100u);
}

TEST(Measure, SamplesThatAreNotPositiveAreErrors) {
  for (const double bad : {std::nan(""), -1.0, 0.0, HUGE_VAL}) {
    VirtualDevice device([=](int64_t i) { return i == 400 ? bad : 1e-3; });
    EXPECT_EQ(Measure(device, MeasureRule(), device.clock).status().reason(), Reason::kBadSample)
        << bad;
  }
}

// A device with iterations of 2 us whose samples are timed by `stamp` instead of by the clock.
class Misdated : public VirtualDevice {
 public:
  // `stamp` maps seconds since the first iteration to the reading of the sample's timer.
  explicit Misdated(std::function<double(double)> stamp)
      : VirtualDevice([](int64_t) { return 2e-6; }), stamp_(std::move(stamp)) {}

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    const MonotonicTime begin = clock.Now();
    std::vector<double> by_the_clock;
    ASSAY_RETURN_IF_ERROR(VirtualDevice::Run(samples, batch, &by_the_clock));
    const int64_t first = iterations - samples * batch;
    for (int64_t i = 0; i < samples; ++i) {
      const auto at = [&](int64_t sample) {
        return stamp_(2e-6 * static_cast<double>(first + sample * batch));
      };
      seconds->push_back((at(i + 1) - at(i)) / static_cast<double>(batch));
    }
    longest_run = std::max(longest_run, clock.Now() - begin);
    return Status::Ok();
  }
  double MinSampleSeconds() const override { return min_sample_seconds; }

  double min_sample_seconds = 20e-6;
  Duration longest_run{};

 private:
  std::function<double(double)> stamp_;
};

TEST(Measure, TimesThatAreFarTooShortCostTenWindowsAtMost) {
  Misdated device([](double seconds) { return 1e-3 * seconds; });
  MeasureRule rule;
  rule.max_seconds = 0.5;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_LE(device.longest_run, std::chrono::milliseconds(510));
  EXPECT_LT(times->warmup_seconds, 2 * rule.max_warmup_seconds + 0.51);
}

// A receiver that wakes up every 8 ms finds everything that arrived in between at once. Most
// samples shorter than 8 ms then last no time at all, but their sum is right.
TEST(Measure, SamplesOfBurstsDoNotMakeWindowsLonger) {
  Misdated device([](double seconds) {
    const double turn = 8e-3;
    const double turns = std::floor(seconds / turn);
    return turns * turn + 1e-3 * (seconds - turns * turn);
  });
  device.min_sample_seconds = 5e-3;
  MeasureRule rule;
  rule.settle_window_seconds = 0.25;
  const auto times = Measure(device, rule, device.clock);
  ASSERT_TRUE(times.ok()) << times.status();
  for (size_t i = 1; i < device.batches.size(); ++i) {
    EXPECT_LE(device.batches[i], 10 * device.batches[i - 1]);
  }
  EXPECT_LE(times->batch, 50'000);                                 // 0.1 s.
  EXPECT_LT(device.longest_run, std::chrono::milliseconds(1010));  // A tenth of the time budget.
  EXPECT_LT(times->warmup_seconds, rule.max_warmup_seconds + 0.5);
}

// A device that gets faster by `factor` when a window begins, the first `times` times.
struct FasterInWindows {
  FasterInWindows(double factor, size_t times) {
    hooks.window_begins = [this, factor, times] {
      began_at.push_back(device.iterations);
      if (began_at.size() <= times) *seconds /= factor;
    };
    hooks.window_ends = [this] { ++ended; };
  }

  std::shared_ptr<double> seconds = std::make_shared<double>(100e-6);
  VirtualDevice device{[seconds = seconds](int64_t) { return *seconds; }};
  MeasureHooks hooks;
  std::vector<int64_t> began_at;
  size_t ended = 0;
};

// The host was busy during the warm-up only.
TEST(Measure, WindowOfTooShortSamplesRestarts) {
  FasterInWindows faster(30, 1);
  const auto times = Measure(faster.device, MeasureRule(), faster.device.clock, faster.hooks);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->stop_reason, "confidence");
  EXPECT_FALSE(times->short_samples);
  EXPECT_EQ(faster.began_at.size(), 3u);  // The batch grows tenfold at a time.
  EXPECT_EQ(faster.ended, 3u);
  // At this length max_samples samples fill min_seconds.
  EXPECT_GE(*faster.seconds * static_cast<double>(times->batch), 100e-6);
  // The result has only the last window.
  EXPECT_NEAR(*std::max_element(times->seconds.begin(), times->seconds.end()), *faster.seconds,
              1e-3 * *faster.seconds);
  EXPECT_EQ(faster.began_at.back(), times->warmup_iterations);
  EXPECT_EQ(static_cast<int64_t>(times->seconds.size()) * times->batch,
            faster.device.iterations - times->warmup_iterations);
  EXPECT_NEAR(times->host_seconds, *faster.seconds, 1e-3 * *faster.seconds);
}

TEST(Measure, WindowsThatKeepGettingShorterEndAndAreFlagged) {
  FasterInWindows faster(100, 10);
  const auto times = Measure(faster.device, MeasureRule(), faster.device.clock, faster.hooks);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_TRUE(times->short_samples);
  EXPECT_EQ(faster.began_at.size(), 4u);
}

// Samples that are shorter than planned, but long enough, are kept.
TEST(Measure, WindowOfSlightlyShortSamplesIsKept) {
  FasterInWindows faster(1.9, 1);
  const auto times = Measure(faster.device, MeasureRule(), faster.device.clock, faster.hooks);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_FALSE(times->short_samples);
  EXPECT_EQ(faster.began_at.size(), 1u);
}

TEST(Measure, HooksBracketTheTimedWindow) {
  VirtualDevice device([](int64_t) { return 1e-3; });
  std::vector<int64_t> at;
  MeasureHooks hooks;
  hooks.warmup_begins = hooks.window_begins =
      hooks.window_ends = [&] { at.push_back(device.iterations); };
  const auto times = Measure(device, MeasureRule(), device.clock, hooks);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(at, (std::vector<int64_t>{0, times->warmup_iterations, device.iterations}));
}

}  // namespace
}  // namespace assay
