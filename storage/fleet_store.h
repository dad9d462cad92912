// Stores the id of a fleet of nodes, and elects the coordinator that schedules its jobs.
// Implementations must pass tests/contract/fleet_store_contract.h.
#pragma once

#include <cstdint>
#include <string>

#include "common/clock.h"
#include "common/status.h"

namespace assay::storage {

// The coordinator that schedules the fleet.
struct Leader {
  std::string owner;
  std::string address;  // HOST:PORT at which agents reach it.
  // Increases whenever another coordinator is elected.
  int64_t term = 0;
};

// A store of the fleet's identity and leader. Thread-safe. Calls block on the database.
class FleetStore {
 public:
  virtual ~FleetStore() = default;

  // Returns the id of the fleet, a UUID that is generated once per database.
  virtual Result<std::string> GetFleetId() = 0;

  // Makes `owner` the leader for the duration of `lease`, or extends its lease if it is already the
  // leader. Does nothing if another coordinator holds an unexpired lease. Returns the current
  // leader.
  virtual Result<Leader> Elect(const std::string& owner, const std::string& address,
                               Duration lease) = 0;
  // Ends the lease of `owner`, so that another coordinator can be elected immediately. Does nothing
  // if `owner` is not the leader.
  virtual Status Resign(const std::string& owner) = 0;
};

}  // namespace assay::storage
