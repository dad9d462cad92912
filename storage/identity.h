// The identity of a series: results of one series are comparable.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"

namespace assay::storage {

// Ids are SHA-256, in hex, over canonical JSON (sorted keys, no spaces).
//
// series_id covers benchmark, version, parameters, metric, unit, direction, cache, fill, simulated,
// the environment and, for imported results, the program that measured, without its version.
// lineage_id is the same without driver and library versions, so that comparing drivers is one
// GROUP BY. environment_id covers the environment alone.
struct Identity {
  std::string series_json;
  std::string series_id;
  std::string lineage_id;
  std::string environment_json;
  std::string environment_id;
};

// Returns the identity of the first measurement.
Identity IdentityOf(const v1::CaseResult& result);

}  // namespace assay::storage
