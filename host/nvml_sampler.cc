#include "host/nvml_sampler.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr auto kSamplePeriod = std::chrono::milliseconds(20);

std::optional<double> Median(std::vector<double>* values) {
  if (values->empty()) return std::nullopt;
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

}  // namespace

NvmlSampler::NvmlSampler(NvmlSource source, std::chrono::milliseconds process_period)
    : source_(std::move(source)), process_period_(process_period) {}

NvmlSampler::~NvmlSampler() { End(); }

void NvmlSampler::Start() {
  thread_ = std::thread([this] { Loop(); });
}

std::vector<double> NvmlSampler::Readings() {
  const NvmlSample sample = source_.sample();
  if (!sample.power_watts) return {};
  return {*sample.power_watts};
}

WindowConditions NvmlSampler::Stop() {
  End();
  WindowConditions conditions;
  conditions.sm_clock_mhz = Median(&sm_clocks_);
  conditions.memory_clock_mhz = Median(&memory_clocks_);
  if (!powers_.empty()) {
    double sum = 0;
    for (const double watts : powers_) sum += watts;
    conditions.power_watts = sum / static_cast<double>(powers_.size());
  }
  if (!temperatures_.empty()) {
    conditions.temperature_celsius = *std::max_element(temperatures_.begin(), temperatures_.end());
  }
  conditions.throttle_reasons.assign(throttle_reasons_.begin(), throttle_reasons_.end());
  conditions.other_gpu_processes = other_processes_;
  if (std::any_of(throttle_reasons_.begin(), throttle_reasons_.end(), IsHarmfulThrottleReason)) {
    conditions.flags.push_back("throttled");
  }
  if (other_processes_.value_or(0) > 0) conditions.flags.push_back("shared_gpu");
  return conditions;
}

void NvmlSampler::End() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  thread_.join();
}

void NvmlSampler::Loop() {
  auto next = std::chrono::steady_clock::now();
  auto next_count = next;
  for (bool stopping = false; !stopping;) {
    if (const auto now = std::chrono::steady_clock::now(); now >= next_count) {
      CountOthers();
      next_count = now + process_period_;
    }
    Add(source_.sample());
    // A reading that takes longer than the period makes the next one late, not follow at once.
    next = std::max(next + kSamplePeriod, std::chrono::steady_clock::now());
    MutexLock lock(mutex_);
    while (!stopping_ && stop_.WaitUntil(mutex_, next)) {
    }
    stopping = stopping_;
  }
  CountOthers();
}

// The list may name this process by a number of another PID namespace, so one entry is
// taken to be this one.
void NvmlSampler::CountOthers() {
  const auto processes = source_.processes();
  if (!processes) return;
  const int others = std::max(0, static_cast<int>(processes->size()) - 1);
  other_processes_ = std::max(other_processes_.value_or(0), others);
}

void NvmlSampler::Add(const NvmlSample& sample) {
  if (sample.sm_clock_mhz) sm_clocks_.push_back(*sample.sm_clock_mhz);
  if (sample.memory_clock_mhz) memory_clocks_.push_back(*sample.memory_clock_mhz);
  if (sample.power_watts) powers_.push_back(*sample.power_watts);
  if (sample.temperature_celsius) temperatures_.push_back(*sample.temperature_celsius);
  if (!sample.throttle_reasons) return;
  throttle_reasons_.insert(sample.throttle_reasons->begin(), sample.throttle_reasons->end());
}

}  // namespace assay
