// NodeStore in memory, for tests.
#pragma once

#include <string>
#include <vector>

#include "storage/fakes/fake_database.h"
#include "storage/node_store.h"

namespace assay::storage {

// Passes tests/contract/node_store_contract.h.
class FakeNodeStore : public NodeStore {
 public:
  explicit FakeNodeStore(FakeDatabase& database) : database_(database) {}

  Status Connect(const std::string& owner, const v1::NodeDescription& node,
                 const std::string& dial_address) override;
  Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) override;
  Status Disconnect(const std::string& owner, const std::string& node_id) override;
  Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                           Duration stale_after) override;
  Result<std::vector<v1::Node>> ListNodes(Duration stale_after) override;
  Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) override;
  Status AddDialAddress(const std::string& address) override;
  Result<std::vector<std::string>> ListDialAddresses() override;
  Status RemoveNode(const std::string& id_or_name) override;

 private:
  using NodeRow = FakeDatabase::NodeRow;

  v1::Node Message(const NodeRow& row, Duration stale_after) const ASSAY_REQUIRES(database_.mutex);
  // Finds the node by id, else by name. Null if there is none.
  NodeRow* Find(const std::string& id_or_name) ASSAY_REQUIRES(database_.mutex);

  // NOT_FOUND with the closest name as hint.
  Status NoNode(const std::string& id_or_name) const ASSAY_REQUIRES(database_.mutex);

  FakeDatabase& database_;
};

}  // namespace assay::storage
