// Reads nodes, their cordons and their settings.
#pragma once

#include <optional>
#include <string>

#include "assay/v1/node_service.pb.h"
#include "common/status.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// "SELECT " + CordonColumns() + " FROM node" selects rows for CordonOf.
std::string CordonColumns();
// Returns nullopt if the node is not cordoned.
std::optional<v1::Cordon> CordonOf(const pqxx::row& row);

// Reads the columns label_settings and price_setting.
v1::NodeSettings SettingsOf(const pqxx::row& row);
// Returns the labels of the settings as the column label_settings has them.
Result<std::string> LabelSettingsOf(const v1::NodeSettings& settings);

// Returns an SQL statement that selects nodes for NodeOf. The caller appends a condition on the
// table "n". $1 is the time without heartbeats after which a node is considered disconnected.
std::string NodeQuery();
// Returns the node without benchmarks.
v1::Node NodeOf(const pqxx::row& row);

}  // namespace assay::storage
