// The NUMA nodes of this machine, and how to use the memory of one of them.
#pragma once

#include <sched.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The nodes that have memory, as keys of both maps.
struct NumaTopology {
  // The distances from each node to every node, in node order, as reported by ACPI. The distance
  // from a node to itself is 10.
  std::map<int, std::vector<int>> distances;
  // The CPUs of a node. Empty for a node that has only memory.
  std::map<int, std::vector<int>> cpus;
};

// Reads the topology from `sys`/devices/system/node. Returns an empty topology if the kernel
// provides none.
NumaTopology ReadNumaTopology(const std::string& sys = "/sys");

// Parses a list of CPUs in Linux's format: "0-3,8". Stops at the first malformed entry.
std::vector<int> ParseCpuList(const std::string& list);

// A binding of the calling thread, and of the memory it allocates, to a NUMA node for the lifetime
// of this object. Skips any part of the binding that the container does not permit.
class OnNumaNode {
 public:
  // Does nothing if `node` is absent.
  OnNumaNode(std::optional<int> node, const NumaTopology& topology);
  ~OnNumaNode();
  OnNumaNode(const OnNumaNode&) = delete;
  OnNumaNode& operator=(const OnNumaNode&) = delete;

  // True if the thread or its memory is bound.
  bool bound() const { return moved_ || policy_; }

 private:
  cpu_set_t before_;
  bool moved_ = false;
  bool policy_ = false;
};

// Returns the NUMA node of the memory page at `address`. The page must already have been accessed,
// because Linux allocates pages on first access. Returns nullopt if the node is unknown, for
// example in a container that forbids the system call.
std::optional<int> NumaNodeOfPage(const void* address);

}  // namespace assay
