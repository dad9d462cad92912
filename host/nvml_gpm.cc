// Reads the performance monitors (GPM) of GPUs from Hopper on.
#include <array>
#include <string>

#include "host/nvml_library.h"

namespace assay {
namespace {

using nvml_abi::GpmSample;

struct Metric {
  unsigned id;
  std::optional<double> NvmlUtilization::*field;
};

constexpr std::array<Metric, 4> kMetrics = {{
    {nvml_abi::kGpmSmUtil, &NvmlUtilization::sm_active},
    {nvml_abi::kGpmSmOccupancy, &NvmlUtilization::occupancy},
    {nvml_abi::kGpmAnyTensorUtil, &NvmlUtilization::tensor_active},
    {nvml_abi::kGpmDramBandwidthUtil, &NvmlUtilization::dram_utilization},
}};

Status NoGpm(const std::string& why) {
  return FailedPrecondition("NVML has no performance monitors here: " + why, Reason::kNoGpm);
}

}  // namespace

// Two samples of the performance monitors, freed on destruction. A sample that cannot be allocated
// is null and reported.
class Nvml::Library::Gpm {
 public:
  explicit Gpm(Library& library) : library_(library) {
    for (GpmSample& sample : samples_) {
      sample = library_.Read<GpmSample>(library_.functions().gpm_sample_alloc).value_or(nullptr);
    }
  }
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;
  ~Gpm() {
    for (GpmSample sample : samples_) {
      if (sample == nullptr) continue;
      library_.Call(library_.functions().gpm_sample_free, sample);
    }
  }

  bool Take(nvml_abi::Device device, size_t which) {
    return samples_[which] != nullptr &&
           library_.Call(library_.functions().gpm_sample_get, device, samples_[which]);
  }

  std::optional<NvmlUtilization> Between() {
    nvml_abi::GpmMetricsGet get{};
    get.version = nvml_abi::kGpmVersion;
    get.count = static_cast<unsigned>(kMetrics.size());
    get.first = samples_[0];
    get.second = samples_[1];
    for (size_t i = 0; i < kMetrics.size(); ++i) get.metrics[i].id = kMetrics[i].id;
    if (!library_.Call(library_.functions().gpm_metrics_get, &get)) {
      return std::nullopt;
    }
    NvmlUtilization utilization;
    for (size_t i = 0; i < kMetrics.size(); ++i) {
      if (get.metrics[i].code != nvml_abi::kSuccess) continue;
      utilization.*(kMetrics[i].field) = get.metrics[i].value * 0.01;
    }
    return utilization;
  }

 private:
  Library& library_;
  std::array<GpmSample, 2> samples_{};  // Before and after.
};

Result<NvmlUtilization> Nvml::UtilizationDuring(int index,
                                                const std::function<Status()>& work) const {
  const auto device = library_->Handle(index);
  if (!device) return NoGpm("the GPU does not answer");
  nvml_abi::GpmSupport support{nvml_abi::kGpmVersion, 0};
  if (!library_->Call(library_->functions().gpm_support, *device, &support)) {
    return NoGpm("the driver does not support them");
  }
  if (support.supported == 0) return NoGpm("the GPU does not have them");
  Library::Gpm gpm(*library_);
  if (!gpm.Take(*device, 0)) return NoGpm("no sample can be taken");
  ASSAY_RETURN_IF_ERROR(work());
  if (!gpm.Take(*device, 1)) return NoGpm("no second sample can be taken");
  const std::optional<NvmlUtilization> utilization = gpm.Between();
  if (!utilization) return NoGpm("two samples cannot be compared");
  return *utilization;
}

}  // namespace assay
