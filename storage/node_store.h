// The fleet as last known. Contract: tests/contract/node_store_contract.h.
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

  // A node said Hello to `owner`: stores its description and marks it connected.
  // ALREADY_EXISTS if another node has the same name and is connected; a
  // disconnected namesake is renamed aside ("name (old)").
  virtual Status Connect(const std::string& owner, const v1::NodeDescription& node,
                         const std::string& dial_address) = 0;
  // Heartbeats of many nodes at once.
  virtual Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) = 0;
  // Its session with `owner` ended; no effect if another coordinator has it now.
  virtual Status Disconnect(const std::string& owner, const std::string& node_id) = 0;
  // True if another coordinator than `owner` has the node's session, and has heard of the node
  // within `stale_after`.
  virtual Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                                   Duration stale_after) = 0;

  // By name. `node_ids` of jobs running now are filled in. Nodes whose heartbeat is
  // older than `stale_after` count as disconnected.
  virtual Result<std::vector<v1::Node>> ListNodes(Duration stale_after) = 0;
  // By id or name. NOT_FOUND offers the nearest name, if one is near.
  virtual Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) = 0;

  // Addresses that coordinators dial, kept over restarts.
  virtual Status AddDialAddress(const std::string& address) = 0;
  virtual Result<std::vector<std::string>> ListDialAddresses() = 0;
  // Forgets the node and its dial address. FAILED_PRECONDITION while it runs a
  // job; NOT_FOUND.
  virtual Status RemoveNode(const std::string& id_or_name) = 0;
};

}  // namespace assay::storage
