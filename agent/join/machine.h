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

// Returns true if `one` and `other` describe different machines. The first of these rules that
// applies decides:
//   1. If the boot ids are equal, it is the same machine.
//   2. If the provider's instance id is known for both, it decides. When a container that keeps its
//      volume is restarted or upgraded, the instance id stays the same.
//   3. If the machine id is known for both, it decides. In containers it is not known: the id there
//      comes from the image, so an upgrade would change it.
//   4. Otherwise, it counts as the same machine, because it may have been rebooted. If two agents
//      run at the same time with one identity, the coordinator detects that.
bool AreTwoMachines(const MachineFacts& one, const MachineFacts& other);

// Compares this machine with the one on which the identity in `folder` was made, and records the
// current boot. Returns FAILED_PRECONDITION with reason COPIED_FOLDER if it is another machine.
Status CheckMachine(const std::string& folder, const MachineFacts& present);

}  // namespace assay::agent
