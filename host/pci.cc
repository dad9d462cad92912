#include "host/pci.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace assay {
namespace {

std::string LineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "0000:18:00.0": what a folder of a function, and no other, is called.
bool IsFunction(const std::string& name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':' && name.find("pci") == std::string::npos;
}

}  // namespace

std::string SysfsPciName(const std::string& bus_id) {
  std::string name = bus_id;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // NVML writes a domain of eight digits, the kernel one of four where four will do.
  if (name.size() == 16 && name.compare(0, 4, "0000") == 0) name.erase(0, 4);
  return name;
}

PciPlace ReadPciPlace(const std::string& bus_id, const std::string& sys) {
  PciPlace place;
  const std::string folder = sys + "/bus/pci/devices/" + SysfsPciName(bus_id);
  std::ifstream node_file(folder + "/numa_node");
  int node = -1;
  if (node_file >> node && node >= 0) place.numa_node = node;
  place.cpus = LineOf(folder + "/local_cpulist");
  std::error_code error;
  const auto real = std::filesystem::canonical(folder, error);
  if (error) return place;
  // From the root port to the function itself. Of a switch there are two ports, the
  // upstream one and the downstream one behind it.
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
    const std::string kind = LineOf(folder + "/class").substr(0, 6);
    const bool display = kind == "0x0300" || kind == "0x0302";  // VGA, 3D without a display.
    if (!display || LineOf(folder + "/vendor") != "0x10de") continue;
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
