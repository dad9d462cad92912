#include "kernels/measure/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace assay {
namespace {

// Iterations that last as long as `model` says, on a clock that only they move.
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

  VirtualClock clock;
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

TEST(Measure, StationaryNoiseStopsWhenItHasStabilised) {
  VirtualDevice device(Noisy(10e-3, 0.2));
  const auto times = Measure(device, MeasureRule(), device.clock);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->stop_reason, "noise_stable");
  EXPECT_GE(times->seconds.size(), 60u);
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

TEST(Measure, WarmUpOutlastsASlowStart) {
  // Ten percent slower at first, settling over two hundred iterations of 5 ms.
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

TEST(Measure, SamplesThatAreNoTimesAreRefused) {
  for (const double bad : {std::nan(""), -1.0, 0.0, HUGE_VAL}) {
    VirtualDevice device([=](int64_t i) { return i == 400 ? bad : 1e-3; });
    EXPECT_EQ(Measure(device, MeasureRule(), device.clock).status().reason(), "BAD_SAMPLE") << bad;
  }
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
