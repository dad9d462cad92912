// The nodes of the fleet. Contract: tests/contract/node_store_contract.h.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Thread-safe; blocks as JobStore does.
class NodeStore {
 public:
  virtual ~NodeStore() = default;

  // Stores the description of a node and marks it connected to `owner`. ALREADY_EXISTS if another
  // connected node has the same name. A disconnected one is renamed to "name (old)".
  virtual Status Connect(const std::string& owner, const v1::NodeDescription& node,
                         const std::string& dial_address) = 0;
  // Stores a heartbeat of each of these nodes that is connected to `owner`.
  virtual Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) = 0;
  // Marks the node disconnected. Does nothing if another coordinator has its session.
  virtual Status Disconnect(const std::string& owner, const std::string& node_id) = 0;
  // True if a coordinator other than `owner` has the node's session and its last heartbeat is at
  // most `stale_after` old.
  virtual Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                                   Duration stale_after) = 0;

  // Returns nodes sorted by name, with the ids of their running jobs. A node whose last heartbeat
  // is older than `stale_after` is reported as disconnected.
  virtual Result<std::vector<v1::Node>> ListNodes(Duration stale_after) = 0;
  // Returns the node of this id or name. NOT_FOUND; the hint is the closest name, if one is close.
  virtual Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) = 0;

  // Addresses of agents that coordinators connect to.
  virtual Status AddDialAddress(const std::string& address) = 0;
  virtual Result<std::vector<std::string>> ListDialAddresses() = 0;
  // Removes the node and its dial address. FAILED_PRECONDITION while it runs a job; NOT_FOUND.
  virtual Status RemoveNode(const std::string& id_or_name) = 0;
};

}  // namespace assay::storage
