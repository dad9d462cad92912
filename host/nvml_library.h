// The dynamically loaded NVML behind class Nvml, and what its sources share. Only
// common/nvml*.cc include this.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "host/nvml.h"
#include "host/nvml_abi.h"

namespace assay {

// Links of one GPU that are up, by what is at their other end.
struct NvLinks {
  bool readable = false;
  int active = 0;
  int to_switch = 0;
  std::optional<int64_t> bytes_per_second;  // Of each, one way.
  std::vector<nvml_abi::PciInfo> remote_gpus;
};

// The loaded functions, and calls to them that turn failure into absence.
class Nvml::Library {
 public:
  explicit Library(Warn warn) : warn_(std::move(warn)) {}

  ~Library();

  // Opens the library and starts it.
  Status Load(const std::string& path);

  struct Functions {
    using Device = nvml_abi::Device;
    using PciInfo = nvml_abi::PciInfo;
    using Memory = nvml_abi::Memory;
    using ProcessInfo = nvml_abi::ProcessInfo;
    using ViolationTime = nvml_abi::ViolationTime;
    using FieldValue = nvml_abi::FieldValue;
    using GpmSample = nvml_abi::GpmSample;
    using GpmSupport = nvml_abi::GpmSupport;
    using GpmMetricsGet = nvml_abi::GpmMetricsGet;
#define ASSAY_NVML_DECLARE(member, symbol, parameters) \
  nvml_abi::Return(*member) parameters = nullptr;
    ASSAY_NVML_FUNCTIONS(ASSAY_NVML_DECLARE)
#undef ASSAY_NVML_DECLARE
  };
  const Functions& functions() const { return functions_; }

  // True if the call worked; the first failure of each function is reported.
  template <typename... Parameters, typename... Arguments>
  bool Call(const char* name, nvml_abi::Return (*function)(Parameters...), Arguments... arguments) {
    const nvml_abi::Return code =
        function == nullptr ? nvml_abi::kFunctionNotFound : function(arguments...);
    if (code == nvml_abi::kSuccess) return true;
    Report(name, code);
    return false;
  }

  // The value that `function` writes through its last parameter.
  template <typename T, typename... Parameters, typename... Arguments>
  std::optional<T> Read(const char* name, nvml_abi::Return (*function)(Parameters...),
                        Arguments... arguments) {
    T value{};
    if (!Call(name, function, arguments..., &value)) return std::nullopt;
    return value;
  }

  // The text that `function` writes to its last two parameters, buffer and size.
  template <typename... Parameters, typename... Arguments>
  std::string ReadText(const char* name, nvml_abi::Return (*function)(Parameters...),
                       Arguments... arguments) {
    std::array<char, 96> text{};  // NVML's longest (UUID, name) is 96.
    const auto size = static_cast<unsigned>(text.size());
    if (!Call(name, function, arguments..., text.data(), size)) return "";
    text.back() = '\0';
    return text.data();
  }

  std::optional<nvml_abi::Device> Handle(int index) {
    const std::optional<unsigned> native = NativeIndex(index);
    if (!native) return std::nullopt;
    return Read<nvml_abi::Device>("nvmlDeviceGetHandleByIndex", functions_.handle, *native);
  }

  // The library's own number of our GPU `index`.
  std::optional<unsigned> NativeIndex(int index) const {
    if (index < 0) return std::nullopt;
    if (!selected_) return static_cast<unsigned>(index);
    if (static_cast<size_t>(index) >= selected_->size()) return std::nullopt;
    return (*selected_)[static_cast<size_t>(index)];
  }

  // Nvml::Select.
  void Select(std::vector<unsigned> native) { selected_ = std::move(native); }
  const std::optional<std::vector<unsigned>>& selected() const { return selected_; }

  NvLinks ReadNvLinks(nvml_abi::Device device);
  // Returns the rate of the device's active NVLink `link` in one direction, in bytes per second.
  std::optional<int64_t> ReadNvLinkSpeed(nvml_abi::Device device, unsigned link);

  class Gpm;  // Two samples of the performance monitors.

 private:
  void Report(const char* name, nvml_abi::Return code);

  const Warn warn_;
  void* handle_ = nullptr;
  bool started_ = false;
  Functions functions_;
  std::optional<std::vector<unsigned>> selected_;  // The library's numbers; absent: all GPUs.
  Mutex mutex_;
  std::set<std::string> reported_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay
