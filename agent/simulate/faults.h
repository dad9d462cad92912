// Reads the faults that a file adds to a simulated fleet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay::agent {

// A fault of one node, or of all nodes.
struct Fault {
  enum class Kind {
    kSlowGpu,        // A GPU has `factor` times its speed.
    kSlowLink,       // Jobs on both `node` and `peer` have `factor` times their speed.
    kDriverStep,     // The node has the driver `driver` and `factor` times its speed.
    kLyingNode,      // The node reports `factor` times the peak of the spec sheet.
    kVanishingNode,  // The node's connection breaks after `after`, until `returns_after`.
    kFailingNode,    // Every job fails.
    kMemoryErrors,   // A GPU has lost rows of memory.
    kLinkErrors,     // A GPU has lost an NVLink, and its other links have errors.
  };
  Kind kind = Kind::kFailingNode;
  std::string node;  // Name; "*" for all nodes.
  std::string peer;  // The node at the other end of a link.
  int gpu = -1;
  double factor = 1;
  std::string driver;
  WallTime since = WallTime::min();
  Duration after{0};  // Counted from the start of the simulation.
  std::optional<Duration> returns_after;

  bool IsOf(const std::string& name) const { return node == "*" || node == name; }
};

// Parses a YAML file of faults. `file` is the file's name, which error messages include together
// with the line number. `text` is the content, for example:
//   faults:
//     - slow_gpu: {node: sim-0007, gpu: 3, factor: 0.9, since: 2026-11-20}
//     - slow_link: {node: sim-0001, peer: sim-0002, factor: 0.5}
//     - driver_step: {node: "*", driver: "590.10", factor: 1.02, since: 2026-11-24}
//     - vanishing_node: {node: sim-0004, after: 30s, returns_after: 90s}
// All other kinds of Fault follow the same pattern.
Result<std::vector<Fault>> ParseFaults(const std::string& file, const std::string& text);

}  // namespace assay::agent
