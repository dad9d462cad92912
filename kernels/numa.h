// The NUMA nodes of this machine, and memory on a chosen one. Linux alone.
#pragma once

#include <sched.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Nodes that have memory, as the kernel tells them.
struct NumaTopology {
  // Node to node, as ACPI gives it: 10 within a node. By node, then in the order of nodes.
  std::map<int, std::vector<int>> distances;
  // CPUs of each node; empty for memory without CPUs.
  std::map<int, std::vector<int>> cpus;
};

// From `sys`/devices/system/node; empty if the kernel does not tell.
NumaTopology ReadNumaTopology(const std::string& sys = "/sys");

// CPUs of a list as Linux writes them: "0-3,8". What is no such list ends it.
std::vector<int> ParseCpuList(const std::string& list);

// The node that "numa" means for memory that a device on node `near` uses: nothing where
// the kernel may choose. Unsupported() if `remote` has no meaning here.
Result<std::optional<int>> ChooseNumaNode(const std::string& word, std::optional<int> near,
                                          const NumaTopology& topology);

// While it lives, the calling thread runs on a node, and new pages of it come from there,
// as far as the container lets it.
class OnNumaNode {
 public:
  // Without a node it changes nothing.
  OnNumaNode(std::optional<int> node, const NumaTopology& topology);
  ~OnNumaNode();
  OnNumaNode(const OnNumaNode&) = delete;
  OnNumaNode& operator=(const OnNumaNode&) = delete;

  // Whether anything bound it.
  bool bound() const { return moved_ || policy_; }

 private:
  cpu_set_t before_;
  bool moved_ = false;
  bool policy_ = false;
};

// The node of the page at `address`, which has been touched; nothing if the kernel does
// not tell: containers often forbid the question.
std::optional<int> NumaNodeOfPage(const void* address);

}  // namespace assay
