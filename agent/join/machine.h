// Detects that the identity of a node was copied to another machine.
#pragma once

#include <string>

#include "common/status.h"
#include "host/rental.h"

namespace assay::agent {

// Facts that identify a machine. Unknown facts are empty.
struct MachineFacts {
  std::string boot_id;     // The kernel's; new at each boot, the same in all containers of a host.
  std::string machine_id;  // Only where it is sure to survive reboots.
  std::string instance;    // The provider's id of this rental.
};

// `root` replaces "/" in tests.
MachineFacts ReadMachine(const Rental& rental, const std::string& root = "");

// Returns true if `one` and `other` describe different machines. Compares these facts, in order:
//   1. Equal boot ids mean the same machine.
//   2. The provider's instance ids decide if both are known. A container keeps its id when it is
//      restarted or upgraded with the same volume.
//   3. The machine ids decide if both are known. They are unknown in containers.
// If no fact decides, assumes the same machine, which may have been rebooted. If it is a copy after
// all, the coordinator notices that two agents are using the same identity at once.
bool AreTwoMachines(const MachineFacts& one, const MachineFacts& other);

// Checks that the identity in `folder` was created on this machine, and records the current boot.
// Returns FAILED_PRECONDITION with reason COPIED_FOLDER if it was created on another machine.
Status CheckMachine(const std::string& folder, const MachineFacts& present);

}  // namespace assay::agent
