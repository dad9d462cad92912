// A libnvidia-ml.so.1 with eight H200 behind NVSwitches, for tests on machines without a GPU. Tests
// load it by path. Some calls fail so that tests can check failures: GPU 0 cannot read its remapped
// rows. It has no nvmlDeviceGetNvLinkRemotePciInfo_v2, like an old driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host/nvml_library.h"

namespace {

using namespace assay::nvml_abi;

constexpr unsigned kGpus = 8;
constexpr Return kInvalidArgument = 2;
constexpr Return kInsufficientSize = 7;
constexpr uint64_t kSwPowerCap = 0x4;

// A handle is the number of the GPU plus 1.
unsigned IndexOf(Device device) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device)) - 1;
}

template <typename T>
Return Give(T* out, T value) {
  *out = value;
  return kSuccess;
}

Return GiveText(char* out, unsigned size, const char* text) {
  if (std::strlen(text) + 1 > size) return kInsufficientSize;
  std::strcpy(out, text);
  return kSuccess;
}

// Reads a value that a test may set, for example a different one for each of several hosts.
const char* FromEnvironment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace

extern "C" {

// FAKE_NVML_INIT replaces the return code 0.
Return nvmlInit_v2() { return std::atoi(FromEnvironment("FAKE_NVML_INIT", "0")); }
Return nvmlShutdown() { return kSuccess; }
Return nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return GiveText(out, size, "580.95.05");
}
Return nvmlSystemGetCudaDriverVersion_v2(int* out) { return Give(out, 13000); }
Return nvmlDeviceGetCount_v2(unsigned* out) { return Give(out, kGpus); }

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  if (index >= kGpus) return kInvalidArgument;
  return Give(out, reinterpret_cast<Device>(uintptr_t{index} + 1));
}

Return nvmlDeviceGetName(Device, char* out, unsigned size) {
  return GiveText(out, size, FromEnvironment("FAKE_NVML_NAME", "NVIDIA H200"));
}

Return nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-00000000-0000-4000-8000-%c0000000000%u",
                *FromEnvironment("FAKE_NVML_HOST", "0"), IndexOf(device));
  return GiveText(out, size, text);
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  *out = {};
  out->bus = 0xf0 + IndexOf(device);
  std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
  return kSuccess;
}

Return nvmlDeviceGetMemoryInfo(Device, Memory* out) {
  return Give(out, Memory{150'754'820'096, 150'000'000'000, 754'820'096});
}

Return nvmlDeviceGetCudaComputeCapability(Device, int* major, int* minor) {
  *minor = 0;
  return Give(major, 9);
}

Return nvmlDeviceGetCurrPcieLinkGeneration(Device, unsigned* out) { return Give(out, 5U); }
Return nvmlDeviceGetMaxPcieLinkGeneration(Device, unsigned* out) { return Give(out, 5U); }
Return nvmlDeviceGetCurrPcieLinkWidth(Device, unsigned* out) { return Give(out, 16U); }
Return nvmlDeviceGetMaxPcieLinkWidth(Device, unsigned* out) { return Give(out, 16U); }
// GPU 5 does not count replays.
Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned* out) {
  return IndexOf(device) == 5 ? kNotSupported : Give(out, 7U);
}

Return nvmlDeviceGetNvLinkState(Device, unsigned link, int* out) {
  return link < kMaxNvLinks ? Give(out, kEnabled) : kInvalidArgument;
}

// The errors of a link grow with every call. GPU 5 does not count them.
Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, int counter, uint64_t* out) {
  static uint64_t calls = 0;
  if (IndexOf(device) == 5 || link >= kMaxNvLinks) return kNotSupported;
  return counter < kNvLinkErrorCounters ? Give(out, ++calls) : kInvalidArgument;
}

Return nvmlDeviceGetNvLinkRemoteDeviceType(Device, unsigned, int* out) {
  return Give(out, kRemoteSwitch);
}

// GPUs 0 and 7 cannot read the memory of each other.
Return nvmlDeviceGetP2PStatus(Device a, Device b, int, int* out) {
  const bool refused = IndexOf(a) + IndexOf(b) == 7 && (IndexOf(a) == 0 || IndexOf(b) == 0);
  return Give(out, refused ? 1 : kP2pOk);
}

Return nvmlDeviceGetFieldValues(Device, int count, FieldValue* out) {
  for (int i = 0; i < count; ++i) {
    out[i].code =
        out[i].field == kFieldNvLinkSpeed && out[i].scope < kMaxNvLinks ? kSuccess : kNotSupported;
    out[i].value.integer = 26'562;
  }
  return kSuccess;
}

Return nvmlDeviceGetTopologyCommonAncestor(Device, Device, int* out) {
  return Give(out, kTopologySystem);
}

Return nvmlDeviceGetEccMode(Device, int* current, int* pending) {
  *pending = kEnabled;
  return Give(current, kEnabled);
}

Return nvmlDeviceGetTotalEccErrors(Device, int type, int, uint64_t* out) {
  return Give(out, type == kEccUncorrected ? uint64_t{0} : uint64_t{3});
}

Return nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* pending, unsigned* failed) {
  if (IndexOf(device) == 0) return kNotSupported;
  *corrected = IndexOf(device) == 3 ? 2 : 0;
  *uncorrected = IndexOf(device) == 3 ? 1 : 0;
  *pending = 0;
  return Give(failed, 0U);
}

Return nvmlDeviceGetPowerManagementLimit(Device, unsigned* out) { return Give(out, 700'000U); }
Return nvmlDeviceGetPowerManagementDefaultLimit(Device, unsigned* out) {
  return Give(out, 700'000U);
}

Return nvmlDeviceGetMaxClockInfo(Device, int type, unsigned* out) {
  return Give(out, type == kClockSm ? 1980U : 3201U);
}

Return nvmlDeviceGetMigMode(Device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return Give(current, 0U);
}

// GPU 7 runs processes.
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  if (IndexOf(device) != 7) return Give(count, 0U);
  out[0] = {4242, 1 << 20, ~0U, ~0U};
  out[1] = {4243, kValueNotAvailable, ~0U, ~0U};
  return Give(count, 2U);
}

Return nvmlDeviceGetClockInfo(Device, int type, unsigned* out) {
  return Give(out, type == kClockSm ? 1830U : 3201U);
}

Return nvmlDeviceGetPowerUsage(Device, unsigned* out) { return Give(out, 698'500U); }
// GPU 6 fell off the bus.
Return nvmlDeviceGetTemperature(Device device, int, unsigned* out) {
  return IndexOf(device) == 6 ? kGpuIsLost : Give(out, 61U);
}
Return nvmlDeviceGetTemperatureThreshold(Device, int type, unsigned* out) {
  return type == kThresholdSlowdown ? Give(out, 87U) : kInvalidArgument;
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device, uint64_t* out) {
  return Give(out, kSwPowerCap);
}

Return nvmlDeviceGetViolationStatus(Device, int policy, ViolationTime* out) {
  return Give(out, ViolationTime{1, policy == 0 ? uint64_t{2'500'000'000} : uint64_t{0}});
}

Return nvmlDeviceGetTotalEnergyConsumption(Device, uint64_t* out) {
  return Give(out, uint64_t{123'456'000});
}

// GPU 5 does not report its utilization.
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  return IndexOf(device) == 5 ? kNotSupported : Give(out, Utilization{97, 40});
}

// An event set is the number of events that were read from it. GPU 2 reports Xids 31 and 94, and
// then an event of another type. GPU 5 cannot be registered.
Return nvmlEventSetCreate(EventSet* out) {
  return Give(out, reinterpret_cast<EventSet>(new unsigned(0)));
}
Return nvmlEventSetFree(EventSet set) {
  delete reinterpret_cast<unsigned*>(set);
  return kSuccess;
}
Return nvmlDeviceRegisterEvents(Device device, uint64_t types, EventSet) {
  if (types != kEventXid) return kInvalidArgument;
  return IndexOf(device) == 5 ? kNotSupported : kSuccess;
}
Return nvmlEventSetWait_v2(EventSet set, EventData* out, unsigned) {
  Device device = nullptr;
  nvmlDeviceGetHandleByIndex_v2(2, &device);
  switch ((*reinterpret_cast<unsigned*>(set))++) {
    case 0:
      return Give(out, EventData{device, kEventXid, 31, ~0U, ~0U});
    case 1:
      return Give(out, EventData{device, kEventXid, 94, ~0U, ~0U});
    case 2:
      return Give(out, EventData{device, 0x1, 7, ~0U, ~0U});
    default:
      return kTimeout;
  }
}

// GPUs 0 to 6 have performance monitors. A sample is the number of samples taken before it.
Return nvmlGpmQueryDeviceSupport(Device device, GpmSupport* out) {
  if (out->version != kGpmVersion) return kInvalidArgument;
  out->supported = IndexOf(device) < 7 ? 1 : 0;
  return kSuccess;
}
Return nvmlGpmSampleAlloc(GpmSample* out) {
  return Give(out, reinterpret_cast<GpmSample>(new int(0)));
}
Return nvmlGpmSampleFree(GpmSample sample) {
  delete reinterpret_cast<int*>(sample);
  return kSuccess;
}
Return nvmlGpmSampleGet(Device device, GpmSample sample) {
  static int taken = 0;
  if (IndexOf(device) == 6) return kNotSupported;
  *reinterpret_cast<int*>(sample) = ++taken;
  return kSuccess;
}
Return nvmlGpmMetricsGet(GpmMetricsGet* get) {
  const int first = *reinterpret_cast<int*>(get->first);
  const int second = *reinterpret_cast<int*>(get->second);
  if (get->version != kGpmVersion || second != first + 1) return kInvalidArgument;
  for (unsigned i = 0; i < get->count; ++i) {
    GpmMetric& metric = get->metrics[i];
    metric.code = metric.id == kGpmSmOccupancy ? kNotSupported : kSuccess;
    metric.value = metric.id == kGpmAnyTensorUtil ? 87.5 : 50;
  }
  return kSuccess;
}

}  // extern "C"
