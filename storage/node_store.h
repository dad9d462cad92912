// Stores the nodes of the fleet. Implementations must pass tests/contract/node_store_contract.h.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// A store of the fleet's nodes. Thread-safe. Calls block on the database.
class NodeStore {
 public:
  virtual ~NodeStore() = default;

  // Stores a node's description and marks the node as connected to the coordinator `owner`. Node
  // names must be unique: if another connected node has the same name, returns ALREADY_EXISTS. If a
  // disconnected node has that name, renames it to "name (old)". A node that has not sent a
  // heartbeat for `stale_after` is considered disconnected, because its coordinator may have
  // crashed.
  virtual Status Connect(const std::string& owner, const v1::NodeDescription& node,
                         const std::string& dial_address, Duration stale_after) = 0;
  // Stores a heartbeat of each of these nodes that is connected to `owner`.
  virtual Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) = 0;
  // Marks the node as disconnected. Does nothing if the node is connected to another coordinator.
  virtual Status Disconnect(const std::string& owner, const std::string& node_id) = 0;
  // Returns whether the node is connected to a coordinator other than `owner` and has sent a
  // heartbeat within the last `stale_after`.
  virtual Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                                   Duration stale_after) = 0;

  // An option to include the nodes' lists of benchmarks, which are large.
  enum class Benchmarks { kNo, kYes };
  // Returns all nodes, sorted by name, with the ids of their running jobs. A node that has not sent
  // a heartbeat for `stale_after` is considered disconnected.
  Result<std::vector<v1::Node>> ListNodes(Duration stale_after, Benchmarks benchmarks) {
    return ListNodesAfter("", std::numeric_limits<int>::max(), stale_after, benchmarks);
  }
  // Like ListNodes, but returns only the first `limit` nodes whose names sort after `name`. Names
  // are compared byte by byte.
  virtual Result<std::vector<v1::Node>> ListNodesAfter(const std::string& name, int limit,
                                                       Duration stale_after,
                                                       Benchmarks benchmarks) = 0;
  // Numbers of nodes. A node counts as disconnected by the same rule as in ListNodes.
  struct NodeCounts {
    int connected = 0;
    int disconnected = 0;
    // The simulated ones among these nodes.
    int simulated_connected = 0;
    int simulated_disconnected = 0;
    // Cordoned nodes, connected or not.
    int cordoned = 0;
    int simulated_cordoned = 0;
    // Nodes that are both cordoned and disconnected.
    int cordoned_disconnected = 0;
    int simulated_cordoned_disconnected = 0;
  };
  virtual Result<NodeCounts> CountNodes(Duration stale_after) = 0;
  // Returns the node with this id or name. If there is none, returns NOT_FOUND, with a hint if
  // there is a similar name.
  virtual Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) = 0;

  // Returns the schemas with this hash (schema::SchemasHash), or null if no node has stored them.
  virtual Result<std::shared_ptr<const v1::Schemas>> GetSchemas(
      const std::string& schemas_hash) = 0;

  // Returns the ids of the quarantined nodes.
  virtual Result<std::vector<std::string>> ListQuarantined() = 0;
  // Ends the quarantine of a node, because a check passed. Clears its counts of failures.
  virtual Status EndQuarantine(const std::string& node_id) = 0;

  // A request to cordon a node, that is, to keep new jobs off it. Cordon first waits for any claim
  // of jobs in progress, so no job starts on the node after Cordon returns. Cordoning a cordoned
  // node replaces only the values given in the request and keeps the time of the first cordon.
  struct CordonRequest {
    std::string node;         // Id or name.
    std::string reason;       // Empty: an earlier cordon's reason stays.
    std::string cordoned_by;  // Stays, too, if an earlier reason stays.
    // The time after which the node's running jobs are stopped. If absent, they may run to
    // completion, even if an earlier request set a time.
    std::optional<Duration> drain;
    // If true, a deadline from an earlier request that has not passed yet remains in force.
    bool keep_deadline = false;
  };
  // Returns NOT_FOUND as GetNode does.
  virtual Status Cordon(const CordonRequest& request) = 0;
  // Makes a cordoned node available for jobs again. Does nothing if it is not cordoned. Returns
  // NOT_FOUND as GetNode does.
  virtual Status Uncordon(const std::string& id_or_name) = 0;

  // Updates labels and the price of a node. The new values override the agent's options in all
  // descriptions that this class returns, even after the agent reconnects. Returns NOT_FOUND if the
  // node does not exist, and INVALID_ARGUMENT if a change is invalid (see NewSettings).
  virtual Status Update(const v1::UpdateNodeRequest& request) = 0;
  // Returns the settings of all nodes that have some, by node id.
  virtual Result<std::map<std::string, v1::NodeSettings>> ListSettings() = 0;

  // Addresses of agents that coordinators connect to.
  virtual Status AddDialAddress(const std::string& address) = 0;
  virtual Result<std::vector<std::string>> ListDialAddresses() = 0;
  // Removes the node and its dial address. Returns FAILED_PRECONDITION while the node is running a
  // job, and NOT_FOUND if it does not exist.
  virtual Status RemoveNode(const std::string& id_or_name) = 0;
};

}  // namespace assay::storage
