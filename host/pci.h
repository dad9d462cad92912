// Where a PCI function sits, as Linux tells it under /sys. Only the C++ standard library.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct PciPlace {
  // The port of the CPU's root complex that leads there: "0000:16:01.0"; empty if the
  // function shows on a root bus itself, as GPUs of virtual machines do.
  std::string root_port;
  // The upstream port of the PCIe switch next to it; empty without a switch.
  std::string pcie_switch;
  // Nothing if the firmware does not say.
  std::optional<int> numa_node;
  // CPUs next to it, as the kernel lists them: "0-47,96-143"; empty if it does not say.
  std::string cpus;
};

// The kernel's name of a function that CUDA or NVML name: "0000:18:00.0".
std::string SysfsPciName(const std::string& bus_id);

// Reads `sys`/bus/pci/devices. What cannot be read is empty.
PciPlace ReadPciPlace(const std::string& bus_id, const std::string& sys = "/sys");

// The kernel's names of NVIDIA's GPUs that NVIDIA's driver has or none: those handed to virtual
// machines, and virtual functions, are left out. A container shows the GPUs of others too.
std::vector<std::string> NvidiaGpusOnBus(const std::string& sys = "/sys");

}  // namespace assay
