#include "storage/node_store.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/mutex.h"
#include "storage/postgres/node_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/benchmark_schema.h"

namespace assay::storage {
namespace {

// The longest interval that is sent to PostgreSQL.
constexpr Duration kForever = std::chrono::hours(24 * 365 * 50);

std::string JsonOf(const v1::NodeDescription& node) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(node, &json).ok()) return "{}";
  return WithoutNul(std::move(json));
}

Status NoNode(Transaction& transaction, const std::string& id_or_name) {
  return NoSuch("node", id_or_name,
                FirstTexts(transaction.exec("SELECT name FROM node ORDER BY name")));
}

// Finds a node $1 by id, else by name.
constexpr const char* kNamedNode =
    "(SELECT node_id FROM node WHERE node_id = $1 OR name = $1 ORDER BY node_id = $1 DESC LIMIT 1)";

// Renames a disconnected node with the name of `node`.
Status RenameNamesake(Transaction& transaction, const v1::NodeDescription& node,
                      Duration stale_after) {
  const pqxx::result namesake = transaction.exec_params(
      "SELECT n.node_id,"
      "  s.owner IS NOT NULL AND s.last_heartbeat_time >= now() - $3::interval "
      "FROM node n JOIN node_session s USING (node_id) "
      "WHERE n.name = $1 AND n.node_id <> $2 FOR UPDATE",
      node.name(), node.node_id(), Interval(std::min(stale_after, kForever)));
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

constexpr const char* kTakeSession =
    "ON CONFLICT (node_id) DO UPDATE SET owner = excluded.owner, last_heartbeat_time = now(),"
    "  simulated = excluded.simulated";

// A description as it is stored: its benchmarks apart.
struct SplitNode {
  v1::NodeDescription bare;
  v1::Schemas schemas;
  std::string schemas_hash;

  explicit SplitNode(const v1::NodeDescription& node) : bare(node) {
    schemas.mutable_benchmarks()->Swap(bare.mutable_benchmarks());
    schemas_hash = schema::SchemasHash(schemas);
  }
};

// A cache of the table schema_set, whose rows never change. Thread-safe.
class SchemaSets {
 public:
  using Set = std::shared_ptr<const v1::Schemas>;

  // Returns the sets with these hashes. Leaves out those that are not stored.
  std::map<std::string, Set> Of(Transaction& transaction, const std::set<std::string>& hashes) {
    std::map<std::string, Set> sets;
    std::vector<std::string> missing;
    {
      MutexLock lock(mutex_);
      for (const std::string& hash : hashes) {
        const auto kept = kept_.find(hash);
        if (kept == kept_.end()) {
          missing.push_back(hash);
        } else {
          sets.insert(*kept);
        }
      }
    }
    if (missing.empty()) return sets;
    for (const auto& row : transaction.exec_params(
             "SELECT schemas_hash, schemas FROM schema_set WHERE schemas_hash = ANY($1::text[])",
             ArrayOf(missing))) {
      auto set = std::make_shared<v1::Schemas>();
      set->ParseFromString(BytesOf(row[1]));
      sets[row[0].as<std::string>()] = std::move(set);
    }
    MutexLock lock(mutex_);
    if (kept_.size() > kMostSets) kept_.clear();
    kept_.insert(sets.begin(), sets.end());
    return sets;
  }

 private:
  // A fleet has a set per version of the runner and kind of node.
  static constexpr size_t kMostSets = 64;

  Mutex mutex_;
  std::map<std::string, Set> kept_ ASSAY_GUARDED_BY(mutex_);
};

class PostgresNodeStore : public NodeStore {
 public:
  explicit PostgresNodeStore(Pool& pool) : pool_(pool) {}

  Status Connect(const std::string& owner, const v1::NodeDescription& node,
                 const std::string& dial_address, Duration stale_after) override {
    const SplitNode split(node);
    const std::string description = HexLiteral(DeterministicBytes(split.bare));
    // Try a single statement first. This suffices if the node is known and its description has not
    // changed, which is true for most nodes that connect.
    ASSAY_ASSIGN_OR_RETURN(
        const pqxx::result unchanged,
        pool_.Execute("reconnect_node",
                      "INSERT INTO node_session SELECT node_id, $6, now(), $7::boolean FROM node "
                      "WHERE node_id = $1 AND name = $2 AND description = $3::bytea"
                      "  AND schemas_hash = $4 AND dial_address = $5 " +
                          std::string(kTakeSession) + " RETURNING 1",
                      node.node_id(), node.name(), description, split.schemas_hash, dial_address,
                      owner, node.inventory().simulated()));
    if (!unchanged.empty()) return Status::Ok();
    return pool_.Run("connect_node", [&](Transaction& transaction) {
      // Lock the name, so that nodes with the same name connect one after the other.
      transaction.exec_params("SELECT pg_advisory_xact_lock(7901, hashtext($1))", node.name());
      ASSAY_RETURN_IF_ERROR(RenameNamesake(transaction, node, stale_after));
      // Sends the schemas, which are large, only if they are new.
      if (transaction
              .exec_params("SELECT 1 FROM schema_set WHERE schemas_hash = $1", split.schemas_hash)
              .empty()) {
        transaction.exec_params(
            "INSERT INTO schema_set VALUES ($1, $2::bytea) ON CONFLICT DO NOTHING",
            split.schemas_hash, HexLiteral(DeterministicBytes(split.schemas)));
      }
      transaction.exec_params(
          "INSERT INTO node (node_id, name, description, description_json, schemas_hash,"
          "  dial_address) VALUES ($1, $2, $3::bytea, $4::jsonb, $5, $6) "
          "ON CONFLICT (node_id) DO UPDATE SET name = excluded.name,"
          "  description = excluded.description, description_json = excluded.description_json,"
          "  schemas_hash = excluded.schemas_hash, dial_address = excluded.dial_address",
          node.node_id(), node.name(), description, JsonOf(split.bare), split.schemas_hash,
          dial_address);
      transaction.exec_params("INSERT INTO node_session VALUES ($1, $2, now(), $3::boolean) " +
                                  std::string(kTakeSession),
                              node.node_id(), owner, node.inventory().simulated());
      return Status::Ok();
    });
  }

  Status Heartbeat(const std::string& owner, const std::vector<std::string>& node_ids) override {
    if (node_ids.empty()) return Status::Ok();
    return pool_
        .ExecutePrepared(
            "heartbeat",
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

  Result<std::vector<v1::Node>> ListNodesAfter(const std::string& name, int limit,
                                               Duration stale_after,
                                               Benchmarks benchmarks) override {
    using Nodes = std::vector<v1::Node>;
    return pool_.Query("list_nodes", [&](Transaction& transaction) -> Result<Nodes> {
      const pqxx::result rows =
          transaction.exec_params(NodeQuery() + "WHERE n.name > $2 ORDER BY n.name LIMIT $3",
                                  Interval(std::min(stale_after, kForever)), name, limit);
      if (benchmarks == Benchmarks::kYes) return NodesOf(transaction, rows);
      Nodes nodes;
      for (const auto& row : rows) nodes.push_back(NodeOf(row));
      return nodes;
    });
  }

  Result<NodeCounts> CountNodes(Duration stale_after) override {
    return pool_.Query("count_nodes", [&](Transaction& transaction) -> Result<NodeCounts> {
      // Few nodes are cordoned, and an index has them.
      const pqxx::row row = transaction.exec_params1(
          "WITH s AS (SELECT node_id, simulated, owner IS NOT NULL AND"
          "    last_heartbeat_time >= now() - $1::interval AS connected FROM node_session),"
          "c AS (SELECT s.* FROM node JOIN s USING (node_id) WHERE cordon_time IS NOT NULL) "
          "SELECT count(*) FILTER (WHERE connected), count(*) FILTER (WHERE NOT connected),"
          "  count(*) FILTER (WHERE connected AND simulated),"
          "  count(*) FILTER (WHERE NOT connected AND simulated),"
          "  (SELECT count(*) FROM c), (SELECT count(*) FROM c WHERE simulated),"
          "  (SELECT count(*) FROM c WHERE NOT connected),"
          "  (SELECT count(*) FROM c WHERE NOT connected AND simulated) FROM s",
          Interval(std::min(stale_after, kForever)));
      return NodeCounts{row[0].as<int>(), row[1].as<int>(), row[2].as<int>(), row[3].as<int>(),
                        row[4].as<int>(), row[5].as<int>(), row[6].as<int>(), row[7].as<int>()};
    });
  }

  Result<v1::Node> GetNode(const std::string& id_or_name, Duration stale_after) override {
    return pool_.Query("get_node", [&](Transaction& transaction) -> Result<v1::Node> {
      const pqxx::result rows = transaction.exec_params(
          NodeQuery() + "WHERE n.node_id = $2 OR n.name = $2 ORDER BY n.node_id = $2 DESC LIMIT 1",
          Interval(std::min(stale_after, kForever)), id_or_name);
      if (rows.empty()) return NoNode(transaction, id_or_name);
      return std::move(NodesOf(transaction, rows)[0]);
    });
  }

  Result<SchemaSets::Set> GetSchemas(const std::string& schemas_hash) override {
    using Set = SchemaSets::Set;
    return pool_.Query("get_schemas", [&](Transaction& transaction) -> Result<Set> {
      const auto sets = schemas_.Of(transaction, {schemas_hash});
      return sets.empty() ? Set() : sets.begin()->second;
    });
  }

  Result<std::vector<std::string>> ListQuarantined() override {
    using Ids = std::vector<std::string>;
    return pool_.Query("list_quarantined", [&](Transaction& transaction) -> Result<Ids> {
      return FirstTexts(transaction.exec(
          "SELECT node_id FROM node WHERE quarantine IS NOT NULL ORDER BY node_id"));
    });
  }

  Status EndQuarantine(const std::string& node_id) override {
    return pool_
        .Execute("end_quarantine",
                 "UPDATE node SET quarantine = NULL, quarantine_time = NULL,"
                 "  failed_job_ids = '{}', failed_campaign_ids = '{}' "
                 "WHERE node_id = $1 AND (quarantine IS NOT NULL OR failed_job_ids <> '{}')",
                 node_id)
        .status();
  }

  Status Cordon(const CordonRequest& request) override {
    std::optional<std::string> drain;
    if (request.drain) drain = Interval(*request.drain);
    return pool_.RunStatement("cordon_node", [&](Transaction& transaction) {
      const pqxx::result rows = transaction.exec_params(
          "UPDATE node SET cordon_time = coalesce(cordon_time, now()),"
          "  cordon_reason = coalesce(nullif($2, ''), cordon_reason),"
          "  cordoned_by = CASE WHEN $2 = '' AND cordon_reason <> '' THEN cordoned_by ELSE $3 END,"
          "  drain_deadline = CASE WHEN $5 AND drain_deadline > now() THEN drain_deadline"
          "                        ELSE now() + $4::interval END WHERE node_id = " +
              std::string(kNamedNode) + " RETURNING 1",
          request.node, request.reason, request.cordoned_by, drain, request.keep_deadline);
      return rows.empty() ? NoNode(transaction, request.node) : Status::Ok();
    });
  }

  Status Uncordon(const std::string& id_or_name) override {
    return pool_.RunStatement("uncordon_node", [&](Transaction& transaction) {
      const pqxx::result rows = transaction.exec_params(
          "UPDATE node SET cordon_time = NULL, cordon_reason = NULL, cordoned_by = NULL,"
          "  drain_deadline = NULL WHERE node_id = " +
              std::string(kNamedNode) + " RETURNING 1",
          id_or_name);
      return rows.empty() ? NoNode(transaction, id_or_name) : Status::Ok();
    });
  }

  Status Update(const v1::UpdateNodeRequest& request) override {
    return pool_.Run("update_node", [&](Transaction& transaction) -> Status {
      const pqxx::result rows = transaction.exec_params(
          "SELECT node_id, name, description, label_settings, price_setting FROM node "
          "WHERE node_id = " +
              std::string(kNamedNode) + " FOR UPDATE",
          request.node());
      if (rows.empty()) return NoNode(transaction, request.node());
      v1::NodeDescription own;
      own.ParseFromString(BytesOf(rows[0]["description"]));
      own.set_name(rows[0]["name"].as<std::string>());
      ASSAY_ASSIGN_OR_RETURN(const v1::NodeSettings settings,
                             NewSettings(request, own, SettingsOf(rows[0])));
      ASSAY_ASSIGN_OR_RETURN(const std::string labels, LabelSettingsOf(settings));
      std::optional<double> price;
      if (settings.has_price_per_hour()) price = settings.price_per_hour();
      transaction.exec_params(
          "UPDATE node SET label_settings = $2::jsonb, price_setting = $3 WHERE node_id = $1",
          rows[0]["node_id"].as<std::string>(), labels, price);
      return Status::Ok();
    });
  }

  Result<std::map<std::string, v1::NodeSettings>> ListSettings() override {
    using Settings = std::map<std::string, v1::NodeSettings>;
    return pool_.Query("list_node_settings", [&](Transaction& transaction) -> Result<Settings> {
      Settings settings;
      for (const auto& row :
           transaction.exec("SELECT node_id, label_settings, price_setting FROM node "
                            "WHERE label_settings <> '{}' OR price_setting IS NOT NULL")) {
        settings[row["node_id"].as<std::string>()] = SettingsOf(row);
      }
      return settings;
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
  // Reads the rows of NodeQuery().
  std::vector<v1::Node> NodesOf(Transaction& transaction, const pqxx::result& rows) {
    std::set<std::string> hashes;
    for (const auto& row : rows) hashes.insert(row["schemas_hash"].as<std::string>());
    const auto sets = schemas_.Of(transaction, hashes);
    std::vector<v1::Node> nodes;
    for (const auto& row : rows) {
      v1::Node& node = nodes.emplace_back(NodeOf(row));
      *node.mutable_description()->mutable_benchmarks() =
          sets.at(row["schemas_hash"].as<std::string>())->benchmarks();
    }
    return nodes;
  }

  Pool& pool_;
  SchemaSets schemas_;
};

}  // namespace

std::unique_ptr<NodeStore> MakeNodeStore(Pool& pool) {
  return std::make_unique<PostgresNodeStore>(pool);
}

}  // namespace assay::storage
