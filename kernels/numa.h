// The NUMA nodes of this machine, and memory on a chosen node. Only for Linux.
#pragma once

#include <sched.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// The nodes that have memory, as the kernel reports them.
struct NumaTopology {
  // ACPI's distances from each node to all nodes, in the order of nodes; 10 within a node.
  std::map<int, std::vector<int>> distances;
  // CPUs of each node; empty for memory without CPUs.
  std::map<int, std::vector<int>> cpus;
};

// Reads `sys`/devices/system/node. Empty if the kernel does not report nodes.
NumaTopology ReadNumaTopology(const std::string& sys = "/sys");

// Parses a list of CPUs as Linux writes it, "0-3,8", up to the first error.
std::vector<int> ParseCpuList(const std::string& list);

// Returns the node that the parameter "numa" selects for memory of a device on node `near`; nothing
// if the kernel may choose. Unsupported() if there is no remote node.
Result<std::optional<int>> ChooseNumaNode(const std::string& word, std::optional<int> near,
                                          const NumaTopology& topology);

// Binds the calling thread and its new pages to a node during its lifetime, as far as the container
// allows it.
class OnNumaNode {
 public:
  // Binds nothing if there is no node.
  OnNumaNode(std::optional<int> node, const NumaTopology& topology);
  ~OnNumaNode();
  OnNumaNode(const OnNumaNode&) = delete;
  OnNumaNode& operator=(const OnNumaNode&) = delete;

  // Returns true if the thread or its memory is bound.
  bool bound() const { return moved_ || policy_; }

 private:
  cpu_set_t before_;
  bool moved_ = false;
  bool policy_ = false;
};

// Returns the node of the page at `address`, which must have been touched. Nothing if the kernel
// does not report it: containers often forbid the system call.
std::optional<int> NumaNodeOfPage(const void* address);

}  // namespace assay
