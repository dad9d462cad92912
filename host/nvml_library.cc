#include "host/nvml_library.h"

#include <dlfcn.h>

#include <utility>

namespace assay {
namespace {

using nvml_abi::Return;

std::string ReturnText(Return code) {
  if (code == nvml_abi::kNotSupported) return "not supported by this GPU or driver";
  if (code == nvml_abi::kFunctionNotFound) return "not in this version of the library";
  return "NVML error " + std::to_string(code);
}

// Describes why NVML did not start, and the remedy.
std::string InitText(Return code) {
  if (code == nvml_abi::kVersionMismatch) {
    return "the driver's kernel module and libraries have different versions, as after an upgrade: "
           "reboot, or reload the module";
  }
  if (code == nvml_abi::kDriverNotLoaded) return "the driver's kernel module is not loaded";
  if (code == nvml_abi::kNoPermission) {
    return "this user may not open /dev/nvidiactl; grant read and write access to it";
  }
  if (code == nvml_abi::kGpuIsLost || code == nvml_abi::kResetRequired) {
    return "a GPU fell off the bus or needs a reset: look for Xid in dmesg, then reset or reboot";
  }
  return ReturnText(code);
}

}  // namespace

Nvml::Library::~Library() {
  {
    MutexLock lock(events_mutex_);
    if (events_ != nullptr) functions_.event_set_free(events_);
  }
  if (started_) functions_.shutdown();
  if (handle_ != nullptr) ::dlclose(handle_);
}

Status Nvml::Library::Load(const std::string& path) {
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* why = ::dlerror();
    return NotFound("cannot load " + path + ": " + (why == nullptr ? "unknown error" : why),
                    Reason::kNoNvidiaDriver);
  }
#define ASSAY_NVML_LOAD(member, symbol, parameters) \
  functions_.member.address =                       \
      reinterpret_cast<decltype(functions_.member.address)>(::dlsym(handle_, symbol));
  ASSAY_NVML_FUNCTIONS(ASSAY_NVML_LOAD)
#undef ASSAY_NVML_LOAD
  if (functions_.init.address == nullptr) {
    return Unavailable(path + " is not NVML: it has no nvmlInit_v2", Reason::kNvmlUnusable);
  }
  const Return code = functions_.init();
  if (code != nvml_abi::kSuccess) {
    const std::string message = "nvmlInit_v2 of " + path + " failed: " + InitText(code);
    // A node with only the libraries installed is not a GPU node.
    if (code == nvml_abi::kDriverNotLoaded) return NotFound(message, Reason::kNoNvidiaDriver);
    return Unavailable(message, Reason::kNvmlUnusable);
  }
  started_ = true;
  return Status::Ok();
}

void Nvml::Library::OpenEvents() {
  if (std::exchange(events_opened_, true)) return;
  const auto set = Read<nvml_abi::EventSet>(functions_.event_set_create);
  if (!set) return;
  events_ = *set;
  const int count = static_cast<int>(Read<unsigned>(functions_.count).value_or(0));
  for (unsigned native = 0; static_cast<int>(native) < count; ++native) {
    const auto device = Read<nvml_abi::Device>(functions_.handle, native);
    if (device) Call(functions_.register_events, *device, nvml_abi::kEventXid, events_);
  }
}

std::optional<NvmlXid> Nvml::Library::LastXid(nvml_abi::Device device) {
  MutexLock lock(events_mutex_);
  OpenEvents();
  // A GPU that logs errors without end must not keep this function from returning.
  constexpr int kMostEvents = 1000;
  for (int i = 0; events_ != nullptr && i < kMostEvents; ++i) {
    nvml_abi::EventData event{};
    const Return code = functions_.event_set_wait(events_, &event, 0);
    if (code != nvml_abi::kSuccess) {
      if (code != nvml_abi::kTimeout) Report(functions_.event_set_wait.name, code);
      break;
    }
    if (event.type != nvml_abi::kEventXid) continue;
    xids_[event.device] = {static_cast<int>(event.data), Clock::Real().WallNow()};
  }
  const auto found = xids_.find(device);
  return found == xids_.end() ? std::nullopt : std::optional(found->second);
}

void Nvml::Library::Report(const char* name, Return code) {
  {
    MutexLock lock(mutex_);
    if (!reported_.insert(name).second) return;
  }
  if (warn_) warn_(std::string(name) + " failed: " + ReturnText(code));
}

}  // namespace assay
