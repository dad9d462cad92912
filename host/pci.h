// The places of PCI functions, read from /sys.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// The place of a PCI function.
struct PciPlace {
  // The CPU root port to which the PCI function is connected, such as "0000:16:01.0". Empty if the
  // function is directly on a root bus, like the GPUs of many virtual machines.
  std::string root_port;
  // The upstream port of the nearest PCIe switch. Empty without a switch.
  std::string pcie_switch;
  // Nullopt if the firmware does not report it.
  std::optional<int> numa_node;
  // The nearest CPUs in the kernel's format: "0-47,96-143". Empty if unknown.
  std::string cpus;
};

// Converts a bus id of CUDA or NVML to the kernel's name of the function: "0000:18:00.0".
std::string SysfsPciName(const std::string& bus_id);

// Reads the place of a function from `sys`/bus/pci/devices. Fields that cannot be read are empty.
PciPlace ReadPciPlace(const std::string& bus_id, const std::string& sys = "/sys");

// Returns the sorted PCI addresses of this machine's NVIDIA GPUs, such as "0000:18:00.0". In a
// container, these include GPUs of other containers. Omits virtual functions, and GPUs bound to any
// driver but NVIDIA's, such as those passed through to virtual machines.
std::vector<std::string> NvidiaGpusOnBus(const std::string& sys = "/sys");

}  // namespace assay
