#include "host/pci.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "common/file.h"

namespace assay {
namespace {

// Returns true for the name of a function's folder: "0000:18:00.0".
bool IsFunction(const std::string& name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':' && name.find("pci") == std::string::npos;
}

}  // namespace

std::string SysfsPciName(const std::string& bus_id) {
  std::string name = bus_id;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // NVML writes the domain with eight digits, the kernel with four if they suffice.
  if (name.size() == 16 && name.compare(0, 4, "0000") == 0) name.erase(0, 4);
  return name;
}

PciPlace ReadPciPlace(const std::string& bus_id, const std::string& sys) {
  PciPlace place;
  const std::string folder = sys + "/bus/pci/devices/" + SysfsPciName(bus_id);
  const int64_t node = NumberIn(folder + "/numa_node").value_or(-1);
  if (node >= 0) place.numa_node = static_cast<int>(node);
  place.cpus = FirstLineOf(folder + "/local_cpulist");
  std::error_code error;
  const auto real = std::filesystem::canonical(folder, error);
  if (error) return place;
  // The canonical path of a PCI function in /sys names all functions from the root port down to
  // this one. A PCIe switch along the way appears as two functions: its upstream port, followed by
  // a downstream port.
  std::vector<std::string> functions;
  for (const auto& part : real) {
    if (IsFunction(part.string())) functions.push_back(part.string());
  }
  if (functions.size() >= 2) place.root_port = functions.front();
  if (functions.size() >= 4) place.pcie_switch = functions[functions.size() - 3];
  return place;
}

std::vector<std::string> NvidiaGpusOnBus(const std::string& sys) {
  std::vector<std::string> gpus;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(sys + "/bus/pci/devices", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().string();
    const std::string kind = FirstLineOf(folder + "/class").substr(0, 6);
    const bool display = kind == "0x0300" || kind == "0x0302";  // VGA, 3D without a display.
    if (!display || FirstLineOf(folder + "/vendor") != "0x10de") continue;
    std::error_code none;
    const auto driver = std::filesystem::read_symlink(folder + "/driver", none).filename();
    const bool virtual_function = std::filesystem::exists(folder + "/physfn", none);
    if (virtual_function || (!driver.empty() && driver != "nvidia")) continue;
    gpus.push_back(entry->path().filename().string());
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

}  // namespace assay
