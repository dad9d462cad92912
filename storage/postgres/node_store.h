// NodeStore in PostgreSQL.
#pragma once

#include <string>
#include <vector>

#include "storage/node_store.h"
#include "storage/postgres/pool.h"

namespace assay::storage {

class PostgresNodeStore : public NodeStore {
 public:
  explicit PostgresNodeStore(Pool& pool) : pool_(pool) {}

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
  Pool& pool_;
};

}  // namespace assay::storage
