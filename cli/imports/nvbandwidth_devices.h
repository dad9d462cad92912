// The list of GPUs above nvbandwidth's tests, and the matrices, which have to be of as many.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "cli/imports/nvbandwidth_run.h"

namespace assay::imports {

struct ListedDevice {
  std::string number;    // As printed: of the GPU, or of its process in a run of several.
  bool process = false;  // Every process has one GPU.
  std::string name;      // "NVIDIA A10".
  std::string host;      // Empty if the entry does not say.
};

// The entry "Device 0: NVIDIA A10 (00000000:01:00)", "0: NVIDIA A10 (...): (HOST)" or
// "Process 0 (HOST): device 0: NVIDIA A10 (...)"; none for other text.
std::optional<ListedDevice> DeviceOf(std::string_view text);

// Adds `device`, whose entry is `where` ("line 9"). INVALID_ARGUMENT unless its number is the
// next, as an entry is missing or stands twice then.
Status AddDevice(const ListedDevice& device, const std::string& where, NvbandwidthRun* run);

// Sets the run's number of GPUs. INVALID_ARGUMENT if a matrix is of more or fewer than the list
// has, or than a matrix before it.
Status CountGpus(NvbandwidthRun* run);

}  // namespace assay::imports
