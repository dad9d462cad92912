#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

// The longest interval that is sent to PostgreSQL.
constexpr Duration kForever = std::chrono::hours(24 * 365 * 50);

std::string NodeQuery() {
  return "SELECT n.description, n.name, n.dial_address, " + Microseconds("n.first_seen_time") +
         " AS first_seen, " + Microseconds("s.last_heartbeat_time") +
         " AS last_heartbeat,"
         " s.owner IS NOT NULL AND s.last_heartbeat_time >= now() - $1::interval AS connected,"
         " ARRAY(SELECT DISTINCT a.job_id FROM allocation a WHERE a.node_id = n.node_id"
         "       ORDER BY a.job_id) AS jobs "
         "FROM node n JOIN node_session s USING (node_id) ";
}

v1::Node NodeOf(const pqxx::row& row) {
  v1::Node node;
  node.mutable_description()->ParseFromString(BytesOf(row["description"]));
  node.mutable_description()->set_name(row["name"].as<std::string>());
  node.set_state(row["connected"].as<bool>() ? v1::NODE_STATE_CONNECTED
                                             : v1::NODE_STATE_DISCONNECTED);
  for (const std::string& job : TextsOf(row["jobs"])) node.add_job_ids(job);
  *node.mutable_first_seen_time() = schema::ToTimestamp(TimeOf(row["first_seen"]));
  *node.mutable_last_heartbeat_time() = schema::ToTimestamp(TimeOf(row["last_heartbeat"]));
  node.set_dial_address(row["dial_address"].as<std::string>());
  return node;
}

std::string JsonOf(const v1::NodeDescription& node) {
  v1::NodeDescription shown = node;
  shown.clear_benchmarks();  // Large, and dashboards do not use them.
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(shown, &json).ok()) return "{}";
  return WithoutNul(std::move(json));
}

Status NoNode(Transaction& transaction, const std::string& id_or_name) {
  return NoSuch("node", id_or_name,
                FirstTexts(transaction.exec("SELECT name FROM node ORDER BY name COLLATE \"C\"")));
}

// Renames a disconnected node with the name of `node`.
Status RenameNamesake(Transaction& transaction, const v1::NodeDescription& node) {
  const pqxx::result namesake = transaction.exec_params(
      "SELECT n.node_id, s.owner IS NOT NULL FROM node n JOIN node_session s USING (node_id) "
      "WHERE n.name = $1 AND n.node_id <> $2 FOR UPDATE",
      node.name(), node.node_id());
  if (namesake.empty()) return Status::Ok();
  if (namesake[0][1].as<bool>()) {
    return Status(Code::kAlreadyExists, Reason::kNodeNameTaken,
                  "another node named \"" + node.name() + "\" is connected");
  }
  transaction.exec_params(
      "UPDATE node SET name = (SELECT name FROM ("
      "    SELECT $1::text || ' (old' || CASE k WHEN 1 THEN '' ELSE ' ' || k END || ')' AS name, k"
      "    FROM generate_series(1, 1 + (SELECT count(*) FROM node)) k) free"
      "  WHERE NOT EXISTS (SELECT FROM node taken WHERE taken.name = free.name)"
      "  ORDER BY k LIMIT 1) "
      "WHERE node_id = $2",
      node.name(), namesake[0][0].as<std::string>());
  return Status::Ok();
}

class PostgresNodeStore : public NodeStore {
 public:
  explicit PostgresNodeStore(Pool& pool) : pool_(pool) {}

  Status Connect(const std::string& owner, const v1::NodeDescription& node,
                 const std::string& dial_address) override {
    return pool_.Run("connect_node", [&](Transaction& transaction) {
      // Serialises nodes that connect with the same name.
      transaction.exec_params("SELECT pg_advisory_xact_lock(7901, hashtext($1))", node.name());
      ASSAY_RETURN_IF_ERROR(RenameNamesake(transaction, node));
      transaction.exec_params(
          "INSERT INTO node (node_id, name, description, description_json, dial_address) "
          "VALUES ($1, $2, $3::bytea, $4::jsonb, $5) "
          "ON CONFLICT (node_id) DO UPDATE SET name = excluded.name,"
          "  description = excluded.description, description_json = excluded.description_json,"
          "  dial_address = excluded.dial_address",
          node.node_id(), node.name(), HexLiteral(DeterministicBytes(node)), JsonOf(node),
          dial_address);
      transaction.exec_params(
          "INSERT INTO node_session VALUES ($1, $2, now()) "
          "ON CONFLICT (node_id) DO UPDATE SET owner = excluded.owner, last_heartbeat_time = now()",
          node.node_id(), owner);
      return Status::Ok();
    });
  }

  Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) override {
    if (node_ids.empty()) return Status::Ok();
    return pool_
        .Execute("heartbeat",
                 "WITH mine AS (SELECT node_id FROM node_session WHERE node_id = ANY($1::text[])"
                 "              AND owner = $2 ORDER BY node_id FOR UPDATE) "
                 "UPDATE node_session s SET last_heartbeat_time = now() FROM mine "
                 "WHERE s.node_id = mine.node_id",
                 ArrayOf(node_ids), owner)
        .status();
  }

  Status Disconnect(const std::string& owner, const std::string& node_id) override {
    return pool_
        .Execute("disconnect_node",
                 "UPDATE node_session SET owner = NULL WHERE node_id = $1 AND owner = $2", node_id,
                 owner)
        .status();
  }

  Result<bool> IsElsewhere(const std::string& owner, const std::string& node_id,
                           Duration stale_after) override {
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result rows,
        pool_.Execute("node_is_elsewhere",
                      "SELECT 1 FROM node_session WHERE node_id = $1 AND owner <> $2 "
                      "AND last_heartbeat_time >= now() - $3::interval",
                      node_id, owner, Interval(std::min(stale_after, kForever))));
    return !rows.empty();
  }

  Result<std::vector<v1::Node>> ListNodes(Duration stale_after) override {
    using Nodes = std::vector<v1::Node>;
    return pool_.Query("list_nodes", [&](Transaction& transaction) -> Result<Nodes> {
      Nodes nodes;
      for (const auto& row : transaction.exec_params(NodeQuery() + "ORDER BY n.name COLLATE \"C\"",
                                                     Interval(std::min(stale_after, kForever)))) {
        nodes.push_back(NodeOf(row));
      }
      return nodes;
    });
  }

  Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) override {
    return pool_.Query("get_node", [&](Transaction& transaction) -> Result<v1::Node> {
      const pqxx::result rows = transaction.exec_params(
          NodeQuery() + "WHERE n.node_id = $2 OR n.name = $2 ORDER BY n.node_id = $2 DESC LIMIT 1",
          Interval(std::min(stale_after, kForever)), id_or_name);
      if (rows.empty()) return NoNode(transaction, id_or_name);
      return NodeOf(rows[0]);
    });
  }

  Status AddDialAddress(const std::string& address) override {
    return pool_
        .Execute("add_dial_address", "INSERT INTO dial_address VALUES ($1) ON CONFLICT DO NOTHING",
                 address)
        .status();
  }

  Result<std::vector<std::string>> ListDialAddresses() override {
    using Addresses = std::vector<std::string>;
    return pool_.Query("list_dial_addresses", [&](Transaction& transaction) -> Result<Addresses> {
      return FirstTexts(transaction.exec("SELECT address FROM dial_address ORDER BY address"));
    });
  }

  // Locks the node's row first, so that no claim places a job on it.
  Status RemoveNode(const std::string& id_or_name) override {
    return pool_.Run("remove_node", [&](Transaction& transaction) {
      const pqxx::result rows = transaction.exec_params(
          "SELECT node_id, name, dial_address FROM node WHERE node_id = $1 OR name = $1 "
          "ORDER BY node_id = $1 DESC LIMIT 1 FOR UPDATE",
          id_or_name);
      if (rows.empty()) return NoNode(transaction, id_or_name);
      const auto id = rows[0][0].as<std::string>();
      const pqxx::result jobs =
          transaction.exec_params("SELECT 1 FROM allocation WHERE node_id = $1 LIMIT 1", id);
      if (!jobs.empty()) {
        return FailedPrecondition("node \"" + rows[0][1].as<std::string>() + "\" runs a job",
                                  Reason::kNodeBusy);
      }
      transaction.exec_params("DELETE FROM dial_address WHERE address = $1",
                              rows[0][2].as<std::string>());
      transaction.exec_params("DELETE FROM node WHERE node_id = $1", id);
      return Status::Ok();
    });
  }

 private:
  Pool& pool_;
};

}  // namespace

std::unique_ptr<NodeStore> MakeNodeStore(Pool& pool) {
  return std::make_unique<PostgresNodeStore>(pool);
}

}  // namespace assay::storage
