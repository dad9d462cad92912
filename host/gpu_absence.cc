#include "host/gpu_absence.h"

namespace assay {
namespace {

// Values of cudaError_t, so that this is tested where CUDA is not;
// kernels/cuda/frame/find_gpu_absence.cc compares them.
constexpr int kInitialization = 3;
constexpr int kStubLibrary = 34;
constexpr int kInsufficientDriver = 35;
constexpr int kDevicesUnavailable = 46;
constexpr int kNoDevice = 100;
constexpr int kSystemNotReady = 802;
constexpr int kSystemDriverMismatch = 803;
constexpr int kCompatNotSupported = 804;
constexpr int kMpsConnectionFailed = 805;
constexpr int kMpsMaxConnections = 809;
constexpr int kUnknown = 999;

std::string Version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Whether a value of CUDA_VISIBLE_DEVICES is there to hide GPUs, rather than to choose some.
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
          "this node has NVIDIA GPUs under /dev, but libcuda.so.1 cannot be loaded: install the "
          "driver's libraries, in the version of its kernel module (/proc/driver/nvidia/version); "
          "in a container, let NVIDIA's container toolkit mount them"};
}

GpuAbsence NoDevice(const CudaAnswer& answer) {
  if (answer.visible_devices && HidesAll(*answer.visible_devices)) {
    return {false, "needs a CUDA GPU; CUDA_VISIBLE_DEVICES=\"" + *answer.visible_devices +
                       "\" hides all: unset it, or name some"};
  }
  if (!answer.device_files) return {false, "needs a CUDA GPU; this node has none"};
  const std::string lost = "fell off the bus: look for Xid in dmesg, and reset or reboot";
  if (answer.visible_devices) {
    return {true, "CUDA_VISIBLE_DEVICES=\"" + *answer.visible_devices +
                      "\" begins with no GPU that the driver finds; an agent names its job's GPUs "
                      "there, and one that `nvidia-smi -L` no longer lists " +
                      lost + "; if you set it, name those that are listed"};
  }
  return {true,
          "the driver finds no GPU, though there are some under /dev; those that `nvidia-smi -L` "
          "does not list either " +
              lost};
}

// Suggests a remedy for an error that only nodes with GPUs, or with remains of a driver, have.
std::string Remedy(const CudaAnswer& answer) {
  switch (answer.error) {
    case kSystemNotReady:
      return "the fabric manager is not running, or not done: see `systemctl status "
             "nvidia-fabricmanager`; it must be of exactly the driver's version";
    case kSystemDriverMismatch:
      return "the driver's kernel module and its libraries are of different versions, as after an "
             "upgrade: reboot, or reload the module; in a container, remove libcuda of its own";
    case kCompatNotSupported:
      return "CUDA's compatibility libraries (cuda-compat) do not support this GPU: take them out "
             "of LD_LIBRARY_PATH, or upgrade the driver";
    case kStubLibrary:
      return "libcuda.so.1 is the toolkit's stub: take the toolkit's stubs out of LD_LIBRARY_PATH";
    case kDevicesUnavailable:
      return "all GPUs are busy or out of order: `nvidia-smi` lists processes, and GPUs in "
             "exclusive mode, which take one";
    case kInitialization:
    case kUnknown:
      return "the driver could not be initialised: a GPU fell off the bus, or its module "
             "nvidia-uvm is not loaded; see `nvidia-smi` and Xid in dmesg, and reset or reboot";
    default:
      break;
  }
  if (answer.error >= kMpsConnectionFailed && answer.error <= kMpsMaxConnections) {
    return "the MPS server does not serve: restart nvidia-cuda-mps-control, or unset "
           "CUDA_MPS_PIPE_DIRECTORY";
  }
  return "see `nvidia-smi` and dmesg";
}

}  // namespace

GpuAbsence ExplainNoGpu(const CudaAnswer& answer) {
  if (answer.error == 0 || answer.error == kNoDevice) return NoDevice(answer);
  if (answer.error == kInsufficientDriver && answer.driver_version == 0) return NoDriver(answer);
  if (answer.error == kInsufficientDriver) {
    return {false, "needs a driver for CUDA " + std::to_string(answer.runtime_version / 1000) +
                       "; this node's is for CUDA " + Version(answer.driver_version)};
  }
  // These two only a driver with GPUs gives, whatever /dev shows.
  const bool sure = answer.error == kSystemNotReady || answer.error == kSystemDriverMismatch;
  if (!sure && !answer.device_files) {
    return {false, "needs a CUDA GPU; this node has none under /dev, and CUDA answers " +
                       answer.error_name};
  }
  return {true, "CUDA cannot use this node's GPUs (" + answer.error_name + "): " + Remedy(answer)};
}

}  // namespace assay
