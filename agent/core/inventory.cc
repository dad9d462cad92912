#include "agent/core/inventory.h"

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/file.h"
#include "host/gpu_model.h"
#include "host/memory.h"
#include "host/pci.h"

namespace assay::agent {
namespace {

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" -> Debian GNU/Linux 12 (bookworm)
std::string OsName() {
  std::ifstream file("/etc/os-release");
  const std::string key = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::string value = line.substr(key.size());
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return "";
}

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology LoadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // Skips I/O devices, whose discovery would load the vendors' libraries.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

// Returns the value of the first line of /proc/cpuinfo that begins with `key`.
std::string CpuInfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string VectorIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "avx512f";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  if (__builtin_cpu_supports("avx")) return "avx";
  return "sse2";
#elif defined(__aarch64__)
  return (CpuInfo("Features") + " ").find(" sve ") != std::string::npos ? "sve" : "neon";
#else
  return "";
#endif
}

// Reads the CPU sockets, cores and caches with the hwloc library. Counts only those available to
// this process under its CPU affinity and cgroup, and omits anything that cannot be read.
v1::CpuInventory ReadCpu() {
  v1::CpuInventory cpu;
  cpu.set_model(CpuInfo("model name"));
  cpu.set_vector_isa(VectorIsa());
  const Topology topology = LoadTopology();
  if (topology == nullptr) return cpu;
  const auto count = [&](hwloc_obj_type_t type) {
    return std::max(0, hwloc_get_nbobjs_by_type(topology.get(), type));
  };
  if (cpu.model().empty()) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
    const char* model =
        package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
    if (model != nullptr) cpu.set_model(model);
  }
  cpu.set_sockets(count(HWLOC_OBJ_PACKAGE));
  cpu.set_cores(count(HWLOC_OBJ_CORE));
  cpu.set_threads(count(HWLOC_OBJ_PU));
  cpu.set_numa_nodes(count(HWLOC_OBJ_NUMANODE));
  hwloc_obj_t l3 = nullptr;
  int64_t l3_bytes = 0;
  while ((l3 = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_L3CACHE, l3)) != nullptr) {
    l3_bytes += static_cast<int64_t>(l3->attr->cache.size);
  }
  if (l3_bytes > 0) cpu.set_l3_bytes(l3_bytes);
  return cpu;
}

template <typename From, typename Setter>
void SetIf(const std::optional<From>& value, Setter set) {
  if (value) set(*value);
}

}  // namespace

v1::GpuInventory ReadGpu(const Nvml& nvml, int index) {
  const NvmlGpu gpu = nvml.Describe(index);
  v1::GpuInventory out;
  out.set_index(index);
  out.set_uuid(gpu.uuid);
  out.set_name(gpu.name);
  const GpuModel model = ParseGpuName(gpu.name);
  out.set_model(model.model);
  out.set_form_factor(model.form_factor);
  out.set_pci_bus_id(gpu.pci_bus_id);
  SetIf(gpu.memory_bytes, [&](int64_t value) { out.set_memory_bytes(value); });
  SetIf(gpu.compute_capability, [&](const auto& value) { out.set_compute_capability(value); });
  SetIf(gpu.pcie_generation, [&](int value) { out.set_pcie_generation(value); });
  SetIf(gpu.pcie_generation_max, [&](int value) { out.set_pcie_generation_max(value); });
  SetIf(gpu.pcie_width, [&](int value) { out.set_pcie_width(value); });
  SetIf(gpu.pcie_width_max, [&](int value) { out.set_pcie_width_max(value); });
  SetIf(gpu.ecc_enabled, [&](bool value) { out.set_ecc_enabled(value); });
  SetIf(gpu.power_limit_watts, [&](double value) { out.set_power_limit_watts(value); });
  SetIf(gpu.power_limit_default_watts,
        [&](double value) { out.set_power_limit_default_watts(value); });
  SetIf(gpu.sm_clock_max_mhz, [&](int value) { out.set_sm_clock_max_mhz(value); });
  SetIf(gpu.memory_clock_max_mhz, [&](int value) { out.set_memory_clock_max_mhz(value); });
  SetIf(gpu.slowdown_celsius, [&](double value) { out.set_slowdown_celsius(value); });
  // The instances are not read. The mark "mixed" keeps results of GPUs with MIG apart.
  if (gpu.mig_enabled.value_or(false)) out.set_mig_profile("mixed");
  SetIf(gpu.nvlinks_active, [&](int value) { out.set_nvlinks_active(value); });
  if (gpu.nvlinks_active) out.set_nvlinks_to_switch(gpu.nvlinks_to_switch);
  SetIf(gpu.nvlink_bytes_per_second,
        [&](int64_t value) { out.set_nvlink_bytes_per_second(value); });
  SetIf(gpu.numa_node, [&](int value) { out.set_numa_node(value); });
  const PciPlace place = ReadPciPlace(gpu.pci_bus_id);
  out.set_pcie_root_port(place.root_port);
  out.set_pcie_switch(place.pcie_switch);
  out.set_cpus(place.cpus);
  return out;
}

v1::NodeInventory ReadInventory(const Nvml* nvml) {
  v1::NodeInventory inventory;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) inventory.set_hostname(host.data());
  *inventory.mutable_cpu() = ReadCpu();
  SetIf(UsableHostBytes(), [&](int64_t bytes) { inventory.set_memory_bytes(bytes); });
  utsname kernel{};
  if (::uname(&kernel) == 0) inventory.set_kernel(kernel.release);
  inventory.set_os(OsName());
  if (nvml == nullptr) return inventory;
  SetIf(nvml->DriverVersion(), [&](const auto& text) { inventory.set_driver_version(text); });
  SetIf(nvml->CudaDriverVersion(),
        [&](const auto& text) { inventory.set_driver_cuda_version(text); });
  for (int index = 0; index < nvml->GpuCount(); ++index) {
    *inventory.add_gpus() = ReadGpu(*nvml, index);
  }
  for (const NvmlLink& link : nvml->Links()) {
    v1::GpuLink* out = inventory.add_gpu_links();
    out->set_gpu_a(link.gpu_a);
    out->set_gpu_b(link.gpu_b);
    out->set_kind(link.kind);
    out->set_no_peer_access(link.no_peer_access);
  }
  return inventory;
}

std::string ReadBootId() { return FirstLineOf("/proc/sys/kernel/random/boot_id"); }

}  // namespace assay::agent
