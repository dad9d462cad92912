#include "common/pci.h"

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

}  // namespace assay
