// nvbandwidth numbers GPUs from 0: a run of one process prints a line a GPU, one of several
// processes a line a process with the GPU that it has taken, and both print matrices of all
// of them. The JSON of several processes lists the first one's host only.
#include "cli/imports/nvbandwidth_devices.h"

#include <algorithm>
#include <utility>

#include "common/utf8.h"
#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

bool IsMultinode(const NvbandwidthMatrix& matrix) { return matrix.test.starts_with("multinode_"); }

// How many GPUs a matrix is of; none where it has one number for all of them.
std::optional<size_t> GpusOf(const NvbandwidthMatrix& matrix) {
  const size_t rows = matrix.cells.size() / matrix.columns;
  if (!IsMultinode(matrix) || matrix.columns > 1) return matrix.columns;
  if (rows > 1) return rows;  // The bisection's.
  return std::nullopt;
}

// Of the GPUs of one process, or of all processes.
struct Count {
  size_t gpus = 0;
  std::string told_by;  // Empty while nothing has told it.
  std::string entry;    // Of the list that told it: "device" or "process".

  Status Check(const NvbandwidthMatrix& matrix, size_t found) {
    if (told_by.empty()) {
      gpus = found;
      told_by = "the one of test " + Quoted(matrix.test) + " (" + matrix.where + ")";
    }
    if (found == gpus) return Status::Ok();
    const std::string lost =
        entry.empty() || found < gpus
            ? "rows or columns are missing, or the file is put together of several runs"
            : "the list's entry of " + entry + " " + std::to_string(gpus) + " is missing";
    return FaultAt(matrix.where, "the matrix of test " + Quoted(matrix.test) + " has " +
                                     std::to_string(found) + (found == 1 ? " GPU" : " GPUs") +
                                     ", and " + told_by + " has " + std::to_string(gpus) + ": " +
                                     lost);
  }
};

}  // namespace

std::optional<ListedDevice> DeviceOf(std::string_view text) {
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest || !IsPlainText(text)) return std::nullopt;
  ListedDevice device;
  std::string_view rest = text;
  if (rest.starts_with("Process ")) {
    const size_t open = rest.find(" (");
    const size_t close = rest.find("): device ");
    if (open == std::string_view::npos || close == std::string_view::npos || open > close) {
      return std::nullopt;
    }
    device.process = true;
    // Padded to the width of the last process's.
    device.number = Trimmed(rest.substr(8, std::max<size_t>(open, 8) - 8));
    device.host = rest.substr(open + 2, close - open - 2);
    rest.remove_prefix(close + 10);
  } else if (rest.starts_with("Device ")) {
    rest.remove_prefix(7);
  }
  const size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || !IsDigits(rest.substr(0, colon))) return std::nullopt;
  if (!device.process) device.number = rest.substr(0, colon);
  rest.remove_prefix(colon + 2);
  device.name = Trimmed(rest.substr(0, rest.find(" (")));
  if (device.name.empty() || !IsDigits(device.number)) return std::nullopt;
  return device;
}

Status AddDevice(const ListedDevice& device, const std::string& where, NvbandwidthRun* run) {
  Machines& machines = run->machines;
  const std::string kind = device.process ? "process " : "device ";
  if (machines.gpus > 0 && device.process != run->several_processes) {
    return FaultAt(where, "a " + kind + "among " + (device.process ? "devices" : "processes") +
                              ": lines of two runs are mixed");
  }
  if (device.number != std::to_string(machines.gpus)) {
    return FaultAt(where, "expected " + kind + std::to_string(machines.gpus) +
                              " of the list of GPUs, and this is " + kind + device.number +
                              ": an entry is missing or stands twice");
  }
  run->several_processes = device.process;
  machines.gpus += 1;
  machines.gpu_names.insert(device.name);
  if (!device.host.empty()) machines.hosts.insert(device.host);
  return Status::Ok();
}

Status CountGpus(NvbandwidthRun* run) {
  Count local;  // Of the process that prints, which may see more GPUs than there are processes.
  Count world;
  if (run->machines.gpus > 0) {
    Count& told = run->several_processes ? world : local;
    told = {.gpus = static_cast<size_t>(run->machines.gpus),
            .told_by = "the list of GPUs",
            .entry = run->several_processes ? "process" : "device"};
  }
  for (const NvbandwidthMatrix& matrix : run->matrices) {
    const std::optional<size_t> gpus = GpusOf(matrix);
    if (!gpus) continue;
    ASSAY_RETURN_IF_ERROR((IsMultinode(matrix) ? world : local).Check(matrix, *gpus));
  }
  run->machines.gpus = static_cast<int>(world.gpus > 0 ? world.gpus : local.gpus);
  return Status::Ok();
}

}  // namespace assay::imports
