#include "host/conditions.h"

#include <cstdlib>
#include <utility>

#include "host/cpu.h"
#include "host/gpu_platform.h"
#include "host/host_load.h"

namespace assay {
namespace {

constexpr double kBusyShare = 0.1;  // Of the CPU time, used by other processes.

class HostSampler : public ConditionsSampler {
 public:
  explicit HostSampler(std::unique_ptr<ConditionsSampler> gpu) : gpu_(std::move(gpu)) {}

  void Start() override {
    double averages[1];
    if (getloadavg(averages, 1) == 1) load_average_ = averages[0];
    load_.Begin();
    if (gpu_) gpu_->Start();
  }

  WindowConditions Stop() override {
    WindowConditions conditions = gpu_ ? gpu_->Stop() : WindowConditions();
    conditions.load_average = load_average_;
    if (load_.OthersShare().value_or(0) > kBusyShare) conditions.flags.push_back("busy_host");
    return conditions;
  }

  std::vector<double> Readings() override {
    return gpu_ ? gpu_->Readings() : std::vector<double>();
  }

 private:
  const std::unique_ptr<ConditionsSampler> gpu_;
  std::optional<double> load_average_;
  HostLoad load_{UsableCpus()};
};

}  // namespace

std::unique_ptr<ConditionsSampler> NewConditionsSampler(int gpu) {
  const bool on_gpu = gpu >= 0 && Gpu() != nullptr;
  return std::make_unique<HostSampler>(on_gpu ? Gpu()->NewSampler(gpu) : nullptr);
}

}  // namespace assay
