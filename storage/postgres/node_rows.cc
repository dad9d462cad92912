#include "storage/postgres/node_rows.h"

#include <nlohmann/json.hpp>

#include "storage/postgres/sql.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {

std::string CordonColumns() {
  return Microseconds("cordon_time") + " AS cordon_time, cordon_reason, cordoned_by, " +
         Microseconds("drain_deadline") + " AS drain_deadline";
}

std::optional<v1::Cordon> CordonOf(const pqxx::row& row) {
  if (row["cordon_time"].is_null()) return std::nullopt;
  v1::Cordon cordon;
  *cordon.mutable_time() = schema::ToTimestamp(TimeOf(row["cordon_time"]));
  cordon.set_reason(row["cordon_reason"].as<std::string>(""));
  cordon.set_cordoned_by(row["cordoned_by"].as<std::string>(""));
  if (!row["drain_deadline"].is_null()) {
    *cordon.mutable_drain_deadline() = schema::ToTimestamp(TimeOf(row["drain_deadline"]));
  }
  return cordon;
}

v1::NodeSettings SettingsOf(const pqxx::row& row) {
  v1::NodeSettings settings;
  // The keys of an object are sorted.
  const auto labels = nlohmann::json::parse(row["label_settings"].as<std::string>());
  for (const auto& [key, value] : labels.items()) {
    if (value.is_null()) {
      settings.add_removed_labels(key);
    } else {
      (*settings.mutable_labels())[key] = value.get<std::string>();
    }
  }
  if (!row["price_setting"].is_null()) {
    settings.set_price_per_hour(row["price_setting"].as<double>());
  }
  return settings;
}

Result<std::string> LabelSettingsOf(const v1::NodeSettings& settings) {
  nlohmann::json labels = nlohmann::json::object();
  for (const std::string& key : settings.removed_labels()) labels[key] = nullptr;
  for (const auto& [key, value] : settings.labels()) labels[key] = value;
  return StorableJson(labels);
}

std::string NodeQuery() {
  return "SELECT n.description, n.schemas_hash, n.name, n.dial_address, n.quarantine, " +
         Microseconds("n.quarantine_time") + " AS quarantine_time, " +
         Microseconds("n.first_seen_time") + " AS first_seen, " +
         Microseconds("s.last_heartbeat_time") + " AS last_heartbeat, " + CordonColumns() +
         ", n.label_settings, n.price_setting,"
         " s.owner IS NOT NULL AND s.last_heartbeat_time >= now() - $1::interval AS connected,"
         " ARRAY(SELECT DISTINCT a.job_id FROM allocation a WHERE a.node_id = n.node_id"
         "       ORDER BY a.job_id) AS jobs "
         "FROM node n JOIN node_session s USING (node_id) ";
}

v1::Node NodeOf(const pqxx::row& row) {
  v1::Node node;
  v1::NodeDescription& description = *node.mutable_description();
  description.ParseFromString(BytesOf(row["description"]));
  description.set_name(row["name"].as<std::string>());
  const v1::NodeSettings settings = SettingsOf(row);
  if (settings.ByteSizeLong() > 0) {
    ApplySettings(settings, &description);
    *node.mutable_settings() = settings;
  }
  if (auto cordon = CordonOf(row)) *node.mutable_cordon() = *std::move(cordon);
  if (!row["quarantine"].is_null()) {
    node.set_quarantine(row["quarantine"].as<std::string>());
    *node.mutable_quarantine_time() = schema::ToTimestamp(TimeOf(row["quarantine_time"]));
  }
  node.set_state(row["connected"].as<bool>() ? v1::NODE_STATE_CONNECTED
                                             : v1::NODE_STATE_DISCONNECTED);
  for (const std::string& job : TextsOf(row["jobs"])) node.add_job_ids(job);
  *node.mutable_first_seen_time() = schema::ToTimestamp(TimeOf(row["first_seen"]));
  *node.mutable_last_heartbeat_time() = schema::ToTimestamp(TimeOf(row["last_heartbeat"]));
  node.set_dial_address(row["dial_address"].as<std::string>());
  return node;
}

}  // namespace assay::storage
