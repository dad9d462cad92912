// Reads the performance monitors (GPM) of GPUs from Hopper on.
#include <array>
#include <memory>
#include <string>
#include <type_traits>

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

Result<NvmlUtilization> Nvml::UtilizationDuring(int index,
                                                const std::function<Status()>& work) const {
  Library& library = *library_;
  const auto& nvml = library.functions();
  const auto device = library.Handle(index);
  nvml_abi::GpmSupport support{nvml_abi::kGpmVersion, 0};
  if (!device || !library.Call(nvml.gpm_support, *device, &support) || support.supported == 0) {
    return NoGpm("the GPU or the driver does not have them");
  }
  const auto free = [&](GpmSample sample) { library.Call(nvml.gpm_sample_free, sample); };
  using Sample = std::unique_ptr<std::remove_pointer_t<GpmSample>, decltype(free)>;
  const auto take = [&] {
    Sample sample(library.Read<GpmSample>(nvml.gpm_sample_alloc).value_or(nullptr), free);
    if (sample && !library.Call(nvml.gpm_sample_get, *device, sample.get())) sample.reset();
    return sample;
  };
  const Sample before = take();
  if (!before) return NoGpm("no sample can be taken");
  ASSAY_RETURN_IF_ERROR(work());
  const Sample after = take();
  nvml_abi::GpmMetricsGet get{};
  get.version = nvml_abi::kGpmVersion;
  get.count = static_cast<unsigned>(kMetrics.size());
  get.first = before.get();
  get.second = after.get();
  for (size_t i = 0; i < kMetrics.size(); ++i) get.metrics[i].id = kMetrics[i].id;
  if (!after || !library.Call(nvml.gpm_metrics_get, &get)) {
    return NoGpm("the sample after the work cannot be compared");
  }
  NvmlUtilization utilization;
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    if (get.metrics[i].code != nvml_abi::kSuccess) continue;
    utilization.*(kMetrics[i].field) = get.metrics[i].value * 0.01;
  }
  return utilization;
}

}  // namespace assay
