#include "host/gpu_platform.h"

namespace assay {
namespace {

// CUDA's error codes (cudaError_t), repeated here so that this file compiles without CUDA's
// headers. kernels/cuda/frame/find_gpu_absence.cc checks that they are correct.
constexpr int kInitialization = 3;
constexpr int kStubLibrary = 34;
constexpr int kInsufficientDriver = 35;
constexpr int kDevicesUnavailable = 46;
constexpr int kNoDevice = 100;
constexpr int kSystemNotReady = 802;
constexpr int kSystemDriverMismatch = 803;
constexpr int kCompatNotSupported = 804;
constexpr int kUnknown = 999;

std::string Version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Returns true if this value of CUDA_VISIBLE_DEVICES hides all GPUs instead of selecting some.
bool HidesAll(const std::string& visible) {
  const std::string first = visible.substr(0, visible.find(','));
  return first.empty() || first == "-1" || first == "none" || first == "void" ||
         first == "NoDevFiles";
}

GpuAbsence NoDriver(const CudaAnswer& answer) {
  if (!answer.device_files) {
    return {false, "needs a CUDA GPU; this node has no NVIDIA driver (libcuda.so.1)"};
  }
  return {true,
          "this node has NVIDIA GPUs under /dev, but libcuda.so.1 cannot be loaded; install the "
          "driver's libraries in the version of its kernel module (/proc/driver/nvidia/version), "
          "or, in a container, mount them with the NVIDIA container toolkit"};
}

GpuAbsence NoDevice(const CudaAnswer& answer) {
  if (answer.visible_devices && HidesAll(*answer.visible_devices)) {
    return {false, "needs a CUDA GPU; CUDA_VISIBLE_DEVICES=\"" + *answer.visible_devices +
                       "\" hides all GPUs; unset it or name some"};
  }
  if (!answer.device_files) return {false, "needs a CUDA GPU; this node has none"};
  const std::string lost =
      "a GPU that `nvidia-smi -L` does not list fell off the bus: look for Xid in dmesg, then "
      "reset or reboot";
  if (answer.visible_devices) {
    return {true, "the driver does not find the first GPU in CUDA_VISIBLE_DEVICES=\"" +
                      *answer.visible_devices + "\"; " + lost};
  }
  return {true, "the driver finds no GPU, although /dev has some; " + lost};
}

// Returns a remedy for an error that occurs only on nodes with GPUs or with parts of a driver.
std::string Remedy(int error) {
  switch (error) {
    case kSystemNotReady:
      return "the fabric manager is not running or not ready; see `systemctl status "
             "nvidia-fabricmanager`; its version must equal the driver's";
    case kSystemDriverMismatch:
      return "the driver's kernel module and libraries have different versions, as after an "
             "upgrade; reboot or reload the module; in a container, remove its own libcuda";
    case kInitialization:
    case kUnknown:
      return "the driver could not be initialised: a GPU fell off the bus, or the module "
             "nvidia-uvm is not loaded; see `nvidia-smi` and Xid in dmesg, then reset or reboot";
    case kStubLibrary:
      return "libcuda.so.1 is the toolkit's stub; remove the stubs folder from LD_LIBRARY_PATH";
    case kCompatNotSupported:
      return "this GPU does not support CUDA's compatibility libraries (cuda-compat); remove them "
             "from LD_LIBRARY_PATH or upgrade the driver";
    case kDevicesUnavailable:
      return "another process holds the GPU in exclusive mode; `nvidia-smi` lists it";
    default:
      return "see `nvidia-smi` and dmesg";
  }
}

// Returns a part of an error message, such as " (580 or newer)", with the oldest driver version
// that supports CUDA `cuda` (a major version), according to NVIDIA's table of minor version
// compatibility. Returns "" for versions other than 12 and 13.
std::string LeastDriver(int cuda) {
  return cuda == 13 ? " (580 or newer)" : cuda == 12 ? " (525 or newer)" : "";
}

}  // namespace

GpuAbsence ExplainNoGpu(const CudaAnswer& answer) {
  if (answer.error == 0 || answer.error == kNoDevice) return NoDevice(answer);
  if (answer.error == kInsufficientDriver && answer.driver_version == 0) return NoDriver(answer);
  if (answer.error == kInsufficientDriver) {
    const int cuda = answer.runtime_version / 1000;
    return {false, "needs a driver for CUDA " + std::to_string(cuda) + LeastDriver(cuda) +
                       "; this node's driver supports CUDA " + Version(answer.driver_version)};
  }
  // CUDA reports "system not ready" and "driver mismatch" only on nodes with GPUs, so in these
  // cases there are GPUs even if /dev shows none.
  const bool sure = answer.error == kSystemNotReady || answer.error == kSystemDriverMismatch;
  if (!sure && !answer.device_files) {
    return {false,
            "needs a CUDA GPU; /dev has none on this node, and CUDA returns " + answer.error_name};
  }
  return {true,
          "CUDA cannot use this node's GPUs (" + answer.error_name + "): " + Remedy(answer.error)};
}

}  // namespace assay
