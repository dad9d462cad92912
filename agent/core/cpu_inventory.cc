#include "agent/core/cpu_inventory.h"

#include <hwloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

namespace assay::agent {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology LoadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // Only CPUs: looking at devices would load the vendors' libraries.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

// The value of the first line of /proc/cpuinfo that begins with `key`.
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

}  // namespace

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

}  // namespace assay::agent
