// The case of sustained. It has no warm-up, so that the first interval starts on a cool GPU.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "host/nvml.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/gpu_uuid.h"
#include "kernels/cuda/gemm/gemm_case.h"

namespace assay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

struct DeviceReading {
  SteadyTime time;
  double sm_clock_mhz = 0;
  double power_watts = 0;  // As NVML reports it: on Hopper a mean over one second.
  double temperature_celsius = 0;
};

// Reads clock, power and temperature of a GPU from NVML, on its own thread, until destroyed.
class DeviceMonitor {
 public:
  // Returns Unsupported() if NVML cannot read all three values for CUDA's GPU `ordinal`.
  static Result<std::unique_ptr<DeviceMonitor>> Start(int ordinal);

  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;
  ~DeviceMonitor();

  // Returns the mean of the readings taken between `begin` and `end`, with `end` as its timestamp.
  // If there are none, returns the latest reading before `begin`. Thread-safe.
  DeviceReading MeanOver(SteadyTime begin, SteadyTime end) const;

 private:
  DeviceMonitor(std::unique_ptr<Nvml> nvml, int index, const DeviceReading& first);
  void Loop();

  const std::unique_ptr<Nvml> nvml_;
  const int index_;
  mutable Mutex mutex_;
  std::vector<DeviceReading> readings_ ASSAY_GUARDED_BY(mutex_);  // Never empty; in order.
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// Interval between readings; one reading takes about a millisecond.
constexpr auto kPeriod = std::chrono::milliseconds(25);

// Returns nothing if one of the three values cannot be read.
std::optional<DeviceReading> Read(const Nvml& nvml, int index) {
  const NvmlSample sample = nvml.Sample(index);
  if (!sample.sm_clock_mhz || !sample.power_watts || !sample.temperature_celsius) {
    return std::nullopt;
  }
  return DeviceReading{std::chrono::steady_clock::now(), *sample.sm_clock_mhz, *sample.power_watts,
                       *sample.temperature_celsius};
}

Result<std::unique_ptr<DeviceMonitor>> DeviceMonitor::Start(int ordinal) {
  const std::string refusal = "needs NVML's clock, power and temperature: ";
  const std::string uuid = GpuUuid(ordinal);
  auto nvml = Nvml::Open(nullptr);
  if (!nvml.ok()) return Unsupported(refusal + nvml.status().message());
  const std::optional<int> index = (*nvml)->FindByUuid(uuid);
  if (!index) return Unsupported(refusal + "it does not know the GPU " + uuid);
  const auto first = Read(**nvml, *index);
  if (!first) return Unsupported(refusal + "it cannot read all of them on this GPU");
  return std::unique_ptr<DeviceMonitor>(new DeviceMonitor(std::move(nvml).value(), *index, *first));
}

DeviceMonitor::DeviceMonitor(std::unique_ptr<Nvml> nvml, int index, const DeviceReading& first)
    : nvml_(std::move(nvml)), index_(index), readings_({first}), thread_([this] { Loop(); }) {}

DeviceMonitor::~DeviceMonitor() {
  ending_ = true;
  thread_.join();
}

void DeviceMonitor::Loop() {
  while (!ending_) {
    if (const auto reading = Read(*nvml_, index_)) {
      MutexLock lock(mutex_);
      readings_.push_back(*reading);
    }
    std::this_thread::sleep_for(kPeriod);
  }
}

DeviceReading DeviceMonitor::MeanOver(SteadyTime begin, SteadyTime end) const {
  const auto earlier = [](SteadyTime time, const DeviceReading& reading) {
    return time < reading.time;
  };
  MutexLock lock(mutex_);
  const auto after = std::upper_bound(readings_.begin(), readings_.end(), end, earlier);
  auto from = std::upper_bound(readings_.begin(), after, begin, earlier);
  if (from == after && from != readings_.begin()) --from;
  if (from == after) return readings_.front();
  DeviceReading mean;
  mean.time = end;
  const auto count = static_cast<double>(after - from);
  for (auto reading = from; reading != after; ++reading) {
    mean.sm_clock_mhz += reading->sm_clock_mhz / count;
    mean.power_watts += reading->power_watts / count;
    mean.temperature_celsius += reading->temperature_celsius / count;
  }
  return mean;
}

// The length of an interval in seconds. Each interval is one sample of the benchmark. Long runs use
// longer intervals so that there are no more than kMaxIntervals of them.
constexpr double kIntervalSeconds = 0.1;
constexpr double kMaxIntervals = 4000;
// Pause before the run, because comparing cuBLASLt's algorithms has heated the GPU.
constexpr auto kRest = std::chrono::seconds(10);
// The criterion for a throttled GPU: for two intervals in a row, its clock or its throughput is
// below kThrottled times the best value of the first kPlateauSeconds.
constexpr double kPlateauSeconds = 1.0;
constexpr double kThrottled = 0.98;
constexpr double kFirstMinuteSeconds = 60;

// One sample of Run.
struct Interval {
  double begin = 0;  // Seconds since the start of the first interval.
  double end = 0;
  double tflops = 0;
  DeviceReading reading;
};

// Returns the seconds until the GPU first throttled, or the length of the run if it never did.
double TimeToThrottle(const std::vector<Interval>& intervals) {
  double clock = 0;
  double tflops = 0;
  size_t at = 0;
  for (; at < intervals.size() && (at == 0 || intervals[at].end <= kPlateauSeconds); ++at) {
    clock = std::max(clock, intervals[at].reading.sm_clock_mhz);
    tflops = std::max(tflops, intervals[at].tflops);
  }
  const auto throttled = [&](const Interval& interval) {
    return interval.reading.sm_clock_mhz < kThrottled * clock ||
           interval.tflops < kThrottled * tflops;
  };
  for (size_t i = 0; i + 1 < intervals.size(); ++i) {
    if (throttled(intervals[i]) && throttled(intervals[i + 1])) return intervals[i].begin;
  }
  return intervals.empty() ? 0 : intervals.back().end;
}

class SustainedCase : public GemmCase {
 public:
  explicit SustainedCase(const RunContext& context)
      : GemmCase(context, SustainedShapeOf(context.parameters)),
        gpu_(context.gpu),
        seconds_(static_cast<double>(Integer(context.parameters, "seconds"))) {}

  int64_t BatchGranularity() const override { return multiplications_; }

  void AdjustRule(MeasureRule* rule) const override {
    rule->min_warmup_seconds = 0;
    rule->max_warmup_seconds = 0;
    rule->settle_window_seconds = IntervalSeconds();
    rule->min_seconds = seconds_;
    rule->max_seconds = seconds_;
    rule->max_samples = static_cast<int64_t>(2 * kMaxIntervals);
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    const size_t before = seconds->size();
    if (intervals_.empty()) start_ = std::chrono::steady_clock::now();
    ASSAY_RETURN_IF_ERROR(GpuCase::Run(samples, batch, seconds));
    SteadyTime end = std::chrono::steady_clock::now();
    // Work out when each sample began. The last one has just finished, and there are no pauses
    // between samples, so count backward from now.
    std::vector<Interval> added;
    for (size_t i = seconds->size(); i-- > before;) {
      const double length = (*seconds)[i] * static_cast<double>(batch);
      const SteadyTime begin = end - std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::duration<double>(length));
      added.push_back({SinceStart(begin), SinceStart(end), shape().Flops() / (*seconds)[i] * 1e-12,
                       monitor_->MeanOver(begin, end)});
      end = begin;
    }
    intervals_.insert(intervals_.end(), added.rbegin(), added.rend());
    return Status::Ok();
  }

  std::vector<double> Observed(const std::string& name) const override {
    if (intervals_.empty()) return {};
    const double total = intervals_.back().end;
    if (name == "steady_tflops") return Throughputs(total / 2, total);
    if (name == "first_minute_tflops") {
      return Throughputs(0, std::min(kFirstMinuteSeconds, total / 2));
    }
    if (name == "time_to_throttle") return {TimeToThrottle(intervals_)};
    std::vector<double> values;
    for (const Interval& interval : intervals_) values.push_back(ValueOf(name, interval));
    if (name == "lowest_sm_clock") return {*std::min_element(values.begin(), values.end())};
    if (name == "highest_sm_clock") return {*std::max_element(values.begin(), values.end())};
    return values;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(GemmCase::SetUp());
    ASSAY_ASSIGN_OR_RETURN(monitor_, DeviceMonitor::Start(gpu_));
    std::vector<double> seconds;
    int64_t set = 0;
    ASSAY_RETURN_IF_ERROR(timer().Time(
        stream(), 3, 1, [&] { return Enqueue(set++ % sets()); }, &seconds));
    multiplications_ =
        std::max<int64_t>(1, std::llround(IntervalSeconds() / std::max(seconds.back(), 1e-7)));
    if (tuned_now() && shape().IsSustained()) std::this_thread::sleep_for(kRest);
    return Status::Ok();
  }

 private:
  double IntervalSeconds() const { return std::max(kIntervalSeconds, seconds_ / kMaxIntervals); }

  double SinceStart(SteadyTime time) const {
    return std::chrono::duration<double>(time - start_).count();
  }

  static double ValueOf(const std::string& name, const Interval& interval) {
    if (name == "power") return interval.reading.power_watts;
    if (name == "temperature") return interval.reading.temperature_celsius;
    if (name == "flops_per_joule") return interval.tflops * 1e3 / interval.reading.power_watts;
    return interval.reading.sm_clock_mhz;
  }

  // Returns the throughput, in TFLOP/s, of each interval that ends between `from` and `to` (in
  // seconds since the start of the run). If there are none, returns that of the first interval.
  std::vector<double> Throughputs(double from, double to) const {
    std::vector<double> values;
    for (const Interval& interval : intervals_) {
      if (interval.end >= from && interval.end <= to) values.push_back(interval.tflops);
    }
    if (values.empty()) values.push_back(intervals_.front().tflops);
    return values;
  }

  const int gpu_;
  const double seconds_;
  std::unique_ptr<DeviceMonitor> monitor_;
  int64_t multiplications_ = 1;  // Multiplications per interval.
  SteadyTime start_;
  std::vector<Interval> intervals_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewSustainedCase(const RunContext& context) {
  return PrepareCase<SustainedCase>(context);
}

}  // namespace assay
