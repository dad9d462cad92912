#include "host/nvml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "host/nvml_library.h"
#include "host/pci.h"

namespace assay {
namespace {

using nvml_abi::Device;
using nvml_abi::PciInfo;

constexpr char kDefaultLibrary[] = "libnvidia-ml.so.1";
constexpr char kLibraryVariable[] = "ASSAY_NVML_LIBRARY";

// Names of the bits of the mask, lowest bit first.
constexpr std::array<std::string_view, 9> kThrottleReasons = {"gpu_idle",
                                                              "applications_clocks_setting",
                                                              "sw_power_cap",
                                                              "hw_slowdown",
                                                              "sync_boost",
                                                              "sw_thermal_slowdown",
                                                              "hw_thermal_slowdown",
                                                              "hw_power_brake_slowdown",
                                                              "display_clock_setting"};

// Values of nvmlPerfPolicyType_t with the names that Assay reports.
constexpr std::array<std::pair<int, const char*>, 5> kPolicies = {
    {{0, "power"}, {1, "thermal"}, {2, "sync_boost"}, {3, "board_limit"}, {5, "reliability"}}};

template <typename T>
std::optional<double> Scaled(std::optional<T> value, double factor) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * factor;
}

template <typename To, typename From>
std::optional<To> As(std::optional<From> value) {
  if (!value) return std::nullopt;
  return static_cast<To>(*value);
}

}  // namespace

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::~Nvml() = default;

Result<std::unique_ptr<Nvml>> Nvml::Open(Warn warn, const std::string& library) {
  std::string path = library;
  if (path.empty()) {
    const char* given = std::getenv(kLibraryVariable);
    path = given == nullptr || *given == '\0' ? kDefaultLibrary : given;
  }
  auto loaded = std::make_unique<Library>(std::move(warn));
  ASSAY_RETURN_IF_ERROR(loaded->Load(path));
  return std::unique_ptr<Nvml>(new Nvml(std::move(loaded)));
}

std::optional<std::string> Nvml::DriverVersion() const {
  std::string version = library_->ReadText(library_->functions().driver_version);
  if (version.empty()) return std::nullopt;
  return version;
}

std::optional<std::string> Nvml::CudaDriverVersion() const {
  const auto version = library_->Read<int>(library_->functions().cuda_version);
  if (!version) return std::nullopt;
  return std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
}

Status Nvml::Select(const std::vector<std::string>& gpus) {
  std::vector<unsigned> native;
  for (const std::string& gpu : gpus) {
    int index = -1;
    const auto [end, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), index);
    if (error != std::errc() || end != gpu.data() + gpu.size()) {
      index = FindByUuid(gpu).value_or(-1);
    }
    if (index < 0 || index >= GpuCount()) {
      return NotFound("there is no GPU \"" + gpu + "\"; this node has " +
                          std::to_string(GpuCount()) + ", numbered from 0",
                      Reason::kNoSuchGpu);
    }
    const auto number = *library_->NativeIndex(index);
    if (std::find(native.begin(), native.end(), number) != native.end()) {
      return InvalidArgument("GPU \"" + gpu + "\" is given twice");
    }
    native.push_back(number);
  }
  library_->Select(std::move(native));
  return Status::Ok();
}

int Nvml::GpuCount() const {
  if (library_->selected()) return static_cast<int>(library_->selected()->size());
  return static_cast<int>(library_->Read<unsigned>(library_->functions().count).value_or(0));
}

NvmlGpu Nvml::Describe(int index) const {
  NvmlGpu gpu;
  gpu.index = index;
  const auto handle = library_->Handle(index);
  if (!handle) return gpu;
  Device device = *handle;
  Library& library = *library_;
  const auto& nvml = library.functions();
  gpu.uuid = library.ReadText(nvml.uuid, device);
  gpu.name = library.ReadText(nvml.name, device);
  if (const auto pci = library.Read<PciInfo>(nvml.pci_info, device)) {
    gpu.pci_bus_id = pci->bus_id;
    gpu.numa_node = ReadPciPlace(pci->bus_id).numa_node;
  }
  if (const auto memory = library.Read<nvml_abi::Memory>(nvml.memory, device)) {
    gpu.memory_bytes = static_cast<int64_t>(memory->total);
  }
  int major = 0;
  int minor = 0;
  if (library.Call(nvml.compute_capability, device, &major, &minor)) {
    gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  }
  const auto number = [&](const auto& function, auto... arguments) {
    return As<int>(library.Read<unsigned>(function, device, arguments...));
  };
  gpu.pcie_generation = number(nvml.pcie_generation);
  gpu.pcie_generation_max = number(nvml.pcie_generation_max);
  gpu.pcie_width = number(nvml.pcie_width);
  gpu.pcie_width_max = number(nvml.pcie_width_max);
  gpu.power_limit_watts = Scaled(number(nvml.power_limit), 1e-3);
  gpu.power_limit_default_watts = Scaled(number(nvml.power_limit_default), 1e-3);
  gpu.sm_clock_max_mhz = number(nvml.max_clock, nvml_abi::kClockSm);
  gpu.memory_clock_max_mhz = number(nvml.max_clock, nvml_abi::kClockMemory);
  gpu.slowdown_celsius =
      Scaled(number(nvml.temperature_threshold, nvml_abi::kThresholdSlowdown), 1);
  int ecc = 0;
  int pending_ecc = 0;
  if (library.Call(nvml.ecc_mode, device, &ecc, &pending_ecc)) {
    gpu.ecc_enabled = ecc == nvml_abi::kEnabled;
  }
  unsigned mig = 0;
  unsigned pending_mig = 0;
  if (library.Call(nvml.mig_mode, device, &mig, &pending_mig)) {
    gpu.mig_enabled = mig == nvml_abi::kEnabled;
  }
  if (const NvLinks links = library.ReadNvLinks(device); links.readable) {
    gpu.nvlinks_active = links.active;
    gpu.nvlinks_to_switch = links.to_switch;
    gpu.nvlink_bytes_per_second = links.bytes_per_second;
  }
  return gpu;
}

NvmlSample Nvml::Sample(int index) const {
  NvmlSample sample;
  const auto handle = library_->Handle(index);
  if (!handle) return sample;
  const auto& nvml = library_->functions();
  const auto number = [&](const auto& function, auto... arguments) {
    return As<double>(library_->Read<unsigned>(function, *handle, arguments...));
  };
  sample.sm_clock_mhz = number(nvml.clock, nvml_abi::kClockSm);
  sample.memory_clock_mhz = number(nvml.clock, nvml_abi::kClockMemory);
  sample.power_watts = Scaled(number(nvml.power), 1e-3);
  sample.temperature_celsius = number(nvml.temperature, nvml_abi::kTemperatureGpu);
  if (const auto mask = library_->Read<uint64_t>(nvml.throttle_reasons, *handle)) {
    sample.throttle_reasons = ThrottleReasonNames(*mask);
  }
  sample.energy_joules = Scaled(library_->Read<uint64_t>(nvml.energy, *handle), 1e-3);
  return sample;
}

NvmlLoad Nvml::Load(int index) const {
  NvmlLoad load;
  const auto handle = library_->Handle(index);
  if (!handle) return load;
  const auto& nvml = library_->functions();
  load.power_limit_watts = Scaled(library_->Read<unsigned>(nvml.power_limit, *handle), 1e-3);
  if (const auto memory = library_->Read<nvml_abi::Memory>(nvml.memory, *handle)) {
    load.memory_used_bytes = static_cast<int64_t>(memory->used);
  }
  if (const auto use = library_->Read<nvml_abi::Utilization>(nvml.utilization, *handle)) {
    load.utilization = use->gpu * 0.01;
  }
  return load;
}

std::optional<NvmlXid> Nvml::LastXid(int index) const {
  const auto handle = library_->Handle(index);
  return handle ? library_->LastXid(*handle) : std::nullopt;
}

std::vector<NvmlThrottleTime> Nvml::ThrottleTimes(int index) const {
  std::vector<NvmlThrottleTime> times;
  const auto handle = library_->Handle(index);
  if (!handle) return times;
  for (const auto& [policy, reason] : kPolicies) {
    const auto time =
        library_->Read<nvml_abi::ViolationTime>(library_->functions().violation, *handle, policy);
    if (time) times.push_back({reason, static_cast<double>(time->violation_time) * 1e-9});
  }
  return times;
}

NvmlErrors Nvml::Errors(int index) const {
  NvmlErrors errors;
  const auto handle = library_->Handle(index);
  if (!handle) return errors;
  const auto& nvml = library_->functions();
  const auto ecc = [&](int type) {
    return As<int64_t>(
        library_->Read<uint64_t>(nvml.ecc_errors, *handle, type, nvml_abi::kEccVolatile));
  };
  errors.ecc_corrected = ecc(nvml_abi::kEccCorrected);
  errors.ecc_uncorrected = ecc(nvml_abi::kEccUncorrected);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (library_->Call(nvml.remapped_rows, *handle, &corrected, &uncorrected, &pending, &failed)) {
    errors.row_remap_pending = pending != 0;
    errors.row_remap_failed = failed != 0;
    errors.rows_remapped_correctable = corrected;
    errors.rows_remapped_uncorrectable = uncorrected;
  }
  errors.pcie_replays = As<int64_t>(library_->Read<unsigned>(nvml.pcie_replays, *handle));
  return errors;
}

NvmlLinkHealth Nvml::LinkHealth(int index) const {
  const auto handle = library_->Handle(index);
  return handle ? library_->LinkHealth(*handle) : NvmlLinkHealth();
}

std::string Nvml::WhyLost(int index) const {
  const auto& nvml = library_->functions();
  const std::optional<unsigned> native = library_->NativeIndex(index);
  if (!native) return "";
  Device device = nullptr;
  nvml_abi::Return code = nvml.handle(*native, &device);
  if (code == nvml_abi::kSuccess) {
    unsigned celsius = 0;
    code = nvml.temperature(device, nvml_abi::kTemperatureGpu, &celsius);
  }
  if (code == nvml_abi::kGpuIsLost) return "GPU is lost (fell off the bus)";
  return code == nvml_abi::kResetRequired ? "GPU requires a reset" : "";
}

std::optional<std::vector<NvmlProcess>> Nvml::ComputeProcesses(int index) const {
  const auto handle = library_->Handle(index);
  if (!handle) return std::nullopt;
  std::array<nvml_abi::ProcessInfo, 64> processes{};  // More contexts than a GPU ever has.
  auto count = static_cast<unsigned>(processes.size());
  if (!library_->Call(library_->functions().processes, *handle, &count, processes.data())) {
    return std::nullopt;
  }
  std::vector<NvmlProcess> found;
  for (size_t i = 0; i < std::min<size_t>(count, processes.size()); ++i) {
    const nvml_abi::ProcessInfo& process = processes[i];
    NvmlProcess& one = found.emplace_back();
    one.pid = process.pid;
    if (process.used_gpu_memory != nvml_abi::kValueNotAvailable) {
      one.memory_bytes = static_cast<int64_t>(process.used_gpu_memory);
    }
  }
  return found;
}

std::optional<int> Nvml::FindByUuid(std::string_view uuid) const {
  for (int index = 0; index < GpuCount(); ++index) {
    const auto handle = library_->Handle(index);
    if (handle && library_->ReadText(library_->functions().uuid, *handle) == uuid) {
      return index;
    }
  }
  return std::nullopt;
}

std::vector<std::string> ThrottleReasonNames(uint64_t mask) {
  std::vector<std::string> names;
  for (size_t bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    names.push_back(bit < kThrottleReasons.size() ? std::string(kThrottleReasons[bit])
                                                  : "bit_" + std::to_string(bit));
  }
  return names;
}

bool IsHarmfulThrottleReason(std::string_view reason) {
  return reason != "gpu_idle" && reason != "applications_clocks_setting" &&
         reason != "display_clock_setting" && reason != "sync_boost";
}

}  // namespace assay
