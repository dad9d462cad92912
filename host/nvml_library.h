// The part of NVML's binary interface used by class Nvml. It is declared here by hand so that Assay
// can be built without NVIDIA's headers. Only host/nvml*.cc and the tests' fake library include
// this file.
//
// The declarations follow API version 12 in NVIDIA's "NVML API Reference Guide". Drivers since
// version 470 provide all functions in ASSAY_NVML_FUNCTIONS.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "host/nvml.h"

namespace assay::nvml_abi {

using Return = int;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kVersionMismatch = 18;  // NVML_ERROR_LIB_RM_VERSION_MISMATCH

using Device = struct DeviceOpaque*;  // nvmlDevice_t

struct PciInfo {  // nvmlPciInfo_t, version 3.
  char bus_id_legacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;
  uint32_t pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {  // nvmlMemory_t, bytes.
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct Utilization {  // nvmlUtilization_t, percent.
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

// nvmlEventSet_t
using EventSet = struct EventSetOpaque*;

struct EventData {  // nvmlEventData_t, version 2. `data` is the number of an Xid.
  Device device;
  uint64_t type;
  uint64_t data;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(EventData) == 32);
// nvmlEventTypeXidCriticalError
inline constexpr uint64_t kEventXid = 0x8;

// NVML_VALUE_NOT_AVAILABLE, of 64 bits.
inline constexpr uint64_t kValueNotAvailable = ~uint64_t{0};

struct ProcessInfo {  // nvmlProcessInfo_t, version 2 (of the _v3 call).
  uint32_t pid;
  uint64_t used_gpu_memory;
  uint32_t gpu_instance_id;
  uint32_t compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24);

struct ViolationTime {  // nvmlViolationTime_t; reference in us, violation in ns.
  uint64_t reference_time;
  uint64_t violation_time;
};
static_assert(sizeof(ViolationTime) == 16);

struct FieldValue {  // nvmlFieldValue_t; its value is a union of numbers.
  unsigned field;
  unsigned scope;
  int64_t timestamp;
  int64_t latency_usec;
  int type;
  Return code;
  union {
    double real;
    unsigned integer;
    uint64_t long_integer;
  } value;
};
static_assert(sizeof(FieldValue) == 40);
// NVML's field numbers for the speed of NVLinks, in MB/s (unsigned int):
//   - NVML_FI_DEV_NVLINK_GET_SPEED is the speed of a single link, whose number is passed as the
//     scope. GPUs older than Hopper do not report it.
//   - NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON is the common speed of all active links.
inline constexpr unsigned kFieldNvLinkSpeed = 164;
inline constexpr unsigned kFieldNvLinkSpeedCommon = 90;

// nvmlGpmSample_t, counters at one moment.
using GpmSample = struct GpmSampleOpaque*;

struct GpmSupport {  // nvmlGpmSupport_t
  unsigned version;
  unsigned supported;
};

struct GpmMetric {  // nvmlGpmMetric_t
  unsigned id;
  Return code;
  double value;
  const char* short_name;
  const char* long_name;
  const char* unit;
};
static_assert(sizeof(GpmMetric) == 40);

struct GpmMetricsGet {  // nvmlGpmMetricsGet_t; its array has NVML_GPM_METRIC_MAX places.
  unsigned version;
  unsigned count;
  GpmSample first;
  GpmSample second;
  GpmMetric metrics[333];
};
// NVML_GPM_SUPPORT_VERSION, NVML_GPM_METRICS_GET_VERSION
inline constexpr unsigned kGpmVersion = 1;
// nvmlGpmMetricId_t, all in percent.
inline constexpr unsigned kGpmSmUtil = 2;
inline constexpr unsigned kGpmSmOccupancy = 3;
inline constexpr unsigned kGpmAnyTensorUtil = 5;
inline constexpr unsigned kGpmDramBandwidthUtil = 10;

// nvmlClockType_t
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
// nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t
inline constexpr int kTemperatureGpu = 0;
inline constexpr int kThresholdSlowdown = 1;
// nvmlNvLinkErrorCounter_t: replays, recoveries, CRC errors of flits and of data.
inline constexpr int kNvLinkErrorCounters = 4;
// nvmlMemoryErrorType_t, nvmlEccCounterType_t
inline constexpr int kEccCorrected = 0;
inline constexpr int kEccUncorrected = 1;
inline constexpr int kEccVolatile = 0;
// nvmlEnableState_t
inline constexpr int kEnabled = 1;
// nvmlIntNvLinkDeviceType_t
inline constexpr int kRemoteGpu = 0;
inline constexpr int kRemoteSwitch = 2;
// nvmlGpuTopologyLevel_t
inline constexpr int kTopologyInternal = 0;
inline constexpr int kTopologySingle = 10;
inline constexpr int kTopologyMultiple = 20;
inline constexpr int kTopologyHostBridge = 30;
inline constexpr int kTopologyNode = 40;
inline constexpr int kTopologySystem = 50;
// nvmlGpuP2PCapsIndex_t; nvmlGpuP2PStatus_t
inline constexpr int kP2pRead = 0;
inline constexpr int kP2pOk = 0;
inline constexpr int kP2pUnknown = 6;
// NVML_NVLINK_MAX_LINKS
inline constexpr unsigned kMaxNvLinks = 18;

// Lists the NVML functions that Assay calls, as X(member, exported name, parameters). Any of them
// except init may be missing from older versions of NVML.
#define ASSAY_NVML_FUNCTIONS(X)                                                              \
  X(init, "nvmlInit_v2", ())                                                                 \
  X(shutdown, "nvmlShutdown", ())                                                            \
  X(driver_version, "nvmlSystemGetDriverVersion", (char*, unsigned))                         \
  X(cuda_version, "nvmlSystemGetCudaDriverVersion_v2", (int*))                               \
  X(count, "nvmlDeviceGetCount_v2", (unsigned*))                                             \
  X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*))                            \
  X(name, "nvmlDeviceGetName", (Device, char*, unsigned))                                    \
  X(uuid, "nvmlDeviceGetUUID", (Device, char*, unsigned))                                    \
  X(pci_info, "nvmlDeviceGetPciInfo_v3", (Device, PciInfo*))                                 \
  X(memory, "nvmlDeviceGetMemoryInfo", (Device, Memory*))                                    \
  X(compute_capability, "nvmlDeviceGetCudaComputeCapability", (Device, int*, int*))          \
  X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (Device, unsigned*))             \
  X(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", (Device, unsigned*))          \
  X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (Device, unsigned*))                       \
  X(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", (Device, unsigned*))                    \
  X(pcie_replays, "nvmlDeviceGetPcieReplayCounter", (Device, unsigned*))                     \
  X(nvlink_state, "nvmlDeviceGetNvLinkState", (Device, unsigned, int*))                      \
  X(nvlink_errors, "nvmlDeviceGetNvLinkErrorCounter", (Device, unsigned, int, uint64_t*))    \
  X(nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2", (Device, unsigned, PciInfo*))  \
  X(nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", (Device, unsigned, int*))     \
  X(field_values, "nvmlDeviceGetFieldValues", (Device, int, FieldValue*))                    \
  X(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor", (Device, Device, int*))          \
  X(p2p_status, "nvmlDeviceGetP2PStatus", (Device, Device, int, int*))                       \
  X(ecc_mode, "nvmlDeviceGetEccMode", (Device, int*, int*))                                  \
  X(ecc_errors, "nvmlDeviceGetTotalEccErrors", (Device, int, int, uint64_t*))                \
  X(remapped_rows, "nvmlDeviceGetRemappedRows",                                              \
    (Device, unsigned*, unsigned*, unsigned*, unsigned*))                                    \
  X(power_limit, "nvmlDeviceGetPowerManagementLimit", (Device, unsigned*))                   \
  X(power_limit_default, "nvmlDeviceGetPowerManagementDefaultLimit", (Device, unsigned*))    \
  X(max_clock, "nvmlDeviceGetMaxClockInfo", (Device, int, unsigned*))                        \
  X(mig_mode, "nvmlDeviceGetMigMode", (Device, unsigned*, unsigned*))                        \
  X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", (Device, unsigned*, ProcessInfo*)) \
  X(clock, "nvmlDeviceGetClockInfo", (Device, int, unsigned*))                               \
  X(power, "nvmlDeviceGetPowerUsage", (Device, unsigned*))                                   \
  X(temperature, "nvmlDeviceGetTemperature", (Device, int, unsigned*))                       \
  X(temperature_threshold, "nvmlDeviceGetTemperatureThreshold", (Device, int, unsigned*))    \
  X(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (Device, uint64_t*))      \
  X(violation, "nvmlDeviceGetViolationStatus", (Device, int, ViolationTime*))                \
  X(energy, "nvmlDeviceGetTotalEnergyConsumption", (Device, uint64_t*))                      \
  X(utilization, "nvmlDeviceGetUtilizationRates", (Device, Utilization*))                    \
  X(event_set_create, "nvmlEventSetCreate", (EventSet*))                                     \
  X(event_set_free, "nvmlEventSetFree", (EventSet))                                          \
  X(event_set_wait, "nvmlEventSetWait_v2", (EventSet, EventData*, unsigned))                 \
  X(register_events, "nvmlDeviceRegisterEvents", (Device, uint64_t, EventSet))               \
  X(gpm_support, "nvmlGpmQueryDeviceSupport", (Device, GpmSupport*))                         \
  X(gpm_sample_alloc, "nvmlGpmSampleAlloc", (GpmSample*))                                    \
  X(gpm_sample_free, "nvmlGpmSampleFree", (GpmSample))                                       \
  X(gpm_sample_get, "nvmlGpmSampleGet", (Device, GpmSample))                                 \
  X(gpm_metrics_get, "nvmlGpmMetricsGet", (GpmMetricsGet*))

// A function of the library with its exported name. Not found until `address` is set.
template <typename Signature>
struct Function;
template <typename... Parameters>
struct Function<Return(Parameters...)> {
  const char* name;
  Return (*address)(Parameters...) = nullptr;

  Return operator()(Parameters... arguments) const {
    return address == nullptr ? kFunctionNotFound : address(arguments...);
  }
};

struct Functions {
#define ASSAY_NVML_DECLARE(member, symbol, parameters) Function<Return parameters> member{symbol};
  ASSAY_NVML_FUNCTIONS(ASSAY_NVML_DECLARE)
#undef ASSAY_NVML_DECLARE
};

}  // namespace assay::nvml_abi

namespace assay {

// The NVLinks of one GPU that are up, counted by what is at their other end.
struct NvLinks {
  bool readable = false;
  int active = 0;
  int to_switch = 0;
  std::optional<int64_t> bytes_per_second;  // Of one link in one direction.
  std::vector<nvml_abi::PciInfo> remote_gpus;
};

// The loaded functions, and calls to them that return nothing on failure.
class Nvml::Library {
 public:
  explicit Library(Warn warn) : warn_(std::move(warn)) {}

  ~Library();

  // Opens the library and initializes it.
  Status Load(const std::string& path);

  const nvml_abi::Functions& functions() const { return functions_; }

  // Returns true if the call succeeded. Reports the first failure of each function.
  template <typename Signature, typename... Arguments>
  bool Call(const nvml_abi::Function<Signature>& function, Arguments... arguments) {
    const nvml_abi::Return code = function(arguments...);
    if (code == nvml_abi::kSuccess) return true;
    Report(function.name, code);
    return false;
  }

  // Returns the value that `function` writes through its last parameter.
  template <typename T, typename Signature, typename... Arguments>
  std::optional<T> Read(const nvml_abi::Function<Signature>& function, Arguments... arguments) {
    T value{};
    if (!Call(function, arguments..., &value)) return std::nullopt;
    return value;
  }

  // Returns the text that `function` writes to its last two parameters, a buffer and its size.
  template <typename Signature, typename... Arguments>
  std::string ReadText(const nvml_abi::Function<Signature>& function, Arguments... arguments) {
    std::array<char, 96> text{};  // NVML's longest texts, UUIDs and names, have up to 96 bytes.
    const auto size = static_cast<unsigned>(text.size());
    if (!Call(function, arguments..., text.data(), size)) return "";
    text.back() = '\0';
    return text.data();
  }

  std::optional<nvml_abi::Device> Handle(int index) {
    const std::optional<unsigned> native = NativeIndex(index);
    if (!native) return std::nullopt;
    return Read<nvml_abi::Device>(functions_.handle, *native);
  }

  // Returns the library's number of the GPU that class Nvml numbers `index`.
  std::optional<unsigned> NativeIndex(int index) const {
    if (index < 0) return std::nullopt;
    if (!selected_) return static_cast<unsigned>(index);
    if (static_cast<size_t>(index) >= selected_->size()) return std::nullopt;
    return (*selected_)[static_cast<size_t>(index)];
  }

  // Implements Nvml::Select.
  void Select(std::vector<unsigned> native) { selected_ = std::move(native); }
  const std::optional<std::vector<unsigned>>& selected() const { return selected_; }

  // Implements Nvml::LastXid.
  std::optional<NvmlXid> LastXid(nvml_abi::Device device);

  // Implements Nvml::LinkHealth.
  NvmlLinkHealth LinkHealth(nvml_abi::Device device);

  NvLinks ReadNvLinks(nvml_abi::Device device);
  // Returns the rate of the device's active NVLink `link` in one direction, in bytes per second.
  std::optional<int64_t> ReadNvLinkSpeed(nvml_abi::Device device, unsigned link);

 private:
  void Report(const char* name, nvml_abi::Return code);
  // Creates the event set and registers all GPUs for Xids. Does nothing when called again.
  void OpenEvents() ASSAY_REQUIRES(events_mutex_);

  const Warn warn_;
  void* handle_ = nullptr;
  bool started_ = false;
  nvml_abi::Functions functions_;
  std::optional<std::vector<unsigned>> selected_;  // The library's numbers. Absent: all GPUs.
  Mutex mutex_;
  std::set<std::string> reported_ ASSAY_GUARDED_BY(mutex_);
  Mutex events_mutex_;  // Held while events are read.
  bool events_opened_ ASSAY_GUARDED_BY(events_mutex_) = false;
  nvml_abi::EventSet events_ ASSAY_GUARDED_BY(events_mutex_) = nullptr;  // Null: no events.
  std::map<nvml_abi::Device, NvmlXid> xids_ ASSAY_GUARDED_BY(events_mutex_);
  struct ReadLinks {
    MonotonicTime time{};
    NvmlLinkHealth health;
  };
  Mutex links_mutex_;
  std::map<nvml_abi::Device, ReadLinks> links_ ASSAY_GUARDED_BY(links_mutex_);
};

}  // namespace assay
