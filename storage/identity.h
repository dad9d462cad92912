// What makes two results comparable: the canonical identity of a result's series
// and of its lineage.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"

namespace assay::storage {

// SHA-256, hex, over the canonical JSON (sorted keys, no spaces) of benchmark,
// version, parameters, metric, unit, direction, measurement lane (cache, fill,
// simulated, and for imported results the program that measured, without its version)
// and environment.
// lineage_id leaves out driver and library versions, so that comparing drivers
// is one GROUP BY; environment_id covers the environment alone.
struct Identity {
  std::string series_json;
  std::string series_id;
  std::string lineage_id;
  std::string environment_json;
  std::string environment_id;
};

Identity IdentityOf(const v1::CaseResult& result);

}  // namespace assay::storage
