// sustained: one large GEMM for minutes, and what heat and the power limit make of it.
// Without a warm-up: the first interval begins on a GPU that has rested.
#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/frame/device_monitor.h"
#include "kernels/cuda/gemm/gemm_case.h"

namespace assay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// An interval is one sample: this long, or longer if there would be too many of them.
constexpr double kIntervalSeconds = 0.1;
constexpr double kMaxIntervals = 4000;
// Comparing algorithms heats the GPU up: it rests before the run begins.
constexpr auto kRest = std::chrono::seconds(10);
// The initial plateau is the best interval of this time; throttled is who falls below
// this part of it, in clock or throughput, for two intervals in a row.
constexpr double kPlateauSeconds = 1.0;
constexpr double kThrottled = 0.98;
constexpr double kFirstMinuteSeconds = 60;

GemmShape ShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  shape.type = GemmTypeOf(Word(parameters, "dtype"));
  shape.m = shape.n = shape.k = Integer(parameters, "n");
  shape.b_transposed = true;
  return shape;
}

// One sample of Run.
struct Interval {
  double begin = 0;  // Seconds from the first one's begin.
  double end = 0;
  double tflops = 0;
  DeviceReading reading;
};

// When the GPU first throttled, in seconds; if it never did, all the time there was.
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
      : GemmCase(context, ShapeOf(context.parameters)),
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
    // Samples follow each other without a pause: they are dated from the last one back.
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

  // Of the intervals that end from `from` to `to`; the latest before, if there is none.
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
  int64_t multiplications_ = 1;  // Of an interval.
  SteadyTime start_;
  std::vector<Interval> intervals_;
};

class Sustained : public Benchmark {
 public:
  Sustained() {
    info_.name = "sustained";
    info_.summary = "a GEMM for minutes: throughput, clock, power and temperature over time";
    info_.resource = Resource::kGpu;
    info_.parameters = {
        {"n",
         ParameterType::kInteger,
         "rows and columns of A, B (stored transposed) and D",
         "8192",
         1,
         1 << 17,
         {},
         {},
         GemmMultiple()},
        GemmDtypeParameter(),
        {"seconds", ParameterType::kInteger, "how long", "120", 5, 3600, {}},
        FillParameter(),
        CacheParameter("one set of matrices"),
    };
    info_.selftest_parameters = {{"n", "528"}, {"seconds", "5"}};
    const auto observed = [this](const char* name, const char* unit, Direction direction,
                                 const char* description) {
      info_.metrics.push_back({name, unit, direction, description, Quantity::kObserved, 1});
    };
    constexpr Direction kHigh = Direction::kHigherIsBetter;
    constexpr Direction kLow = Direction::kLowerIsBetter;
    info_.metrics = {
        {"tflops", "TFLOP/s", kHigh,
         "throughput of each interval (0.1 s, or a 4000th of the run), in order of time",
         Quantity::kFlops, 1e-12},
        TimeMetric()};
    observed("steady_tflops", "TFLOP/s", kHigh, "throughput in the second half of the run");
    observed("first_minute_tflops", "TFLOP/s", kHigh,
             "throughput in the first minute, or the first half of runs of less than two");
    observed("time_to_throttle", "s", kHigh,
             "until clock or throughput fell over 2% below the best of the first second, for two "
             "intervals; the length of the run if they never did");
    observed("flops_per_joule", "GFLOP/J", kHigh, "throughput over power, of each interval");
    observed("sm_clock", "MHz", kHigh, "SM clock of each interval");
    observed("lowest_sm_clock", "MHz", kHigh, "SM clock of the slowest interval");
    observed("highest_sm_clock", "MHz", kHigh, "SM clock of the fastest interval");
    observed("power", "W", kLow, "power of each interval, as NVML averages it");
    observed("temperature", "C", kLow, "temperature of the GPU, of each interval");
    info_.model = "FLOPs = 2 n^3; bytes = 3 n^2 x element size; time = FLOPs / peak + 2.5 us";
  }

  const BenchmarkInfo& Info() const override { return info_; }

  std::string UnsupportedReason() const override { return WhyNoCublasLt(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    return GemmWork(ShapeOf(parameters), parameters);
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    auto prepared = std::make_unique<SustainedCase>(context);
    ASSAY_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewSustained() { return std::make_unique<Sustained>(); }

}  // namespace assay
