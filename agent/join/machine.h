// Recognises that the identity of a node was copied to another machine.
#pragma once

#include <string>

#include "common/status.h"
#include "host/rental.h"

namespace assay::agent {

// Empty where not known.
struct MachineFacts {
  std::string boot_id;     // The kernel's; new at each boot, the same in all containers of a host.
  std::string machine_id;  // Only where it is sure to survive reboots.
  std::string instance;    // The provider's id of this rental.
};

// `root` replaces "/" in tests.
MachineFacts ReadMachine(const Rental& rental, const std::string& root = "");

// Returns true if these are two machines. The rule, whose first answer counts:
//   1. The same boot is the same machine.
//   2. If the provider's instance id is known for both, it decides. It survives restarts and
//      upgrades of a container that keeps its volume.
//   3. If the machine id is known for both, it decides. Containers have none: theirs comes with the
//      image, so that an upgrade would change it.
//   4. Otherwise, it may be a reboot, so it is the same machine. Two agents that run at the same
//      time with one identity are found by the coordinator.
bool AreTwoMachines(const MachineFacts& one, const MachineFacts& other);

// Compares this machine with the one that `folder` (the identity) was made on, and remembers this
// boot. Returns FAILED_PRECONDITION, COPIED_FOLDER if it is another machine.
Status CheckMachine(const std::string& folder, const MachineFacts& present);

}  // namespace assay::agent
