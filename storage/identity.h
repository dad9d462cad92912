// Computes the identity of a result's series. Results of the same series are comparable.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"

namespace assay::storage {

// Ids that group comparable results. Each id is the hex-encoded SHA-256 of canonical JSON (sorted
// keys, no spaces).
// - environment_id covers the hardware with its settings, the NCCL settings, and the versions of
//   drivers and libraries.
// - series_id covers the environment, the benchmark with its version and parameters, the metric
//   with its unit and direction, the cache state, the content of the inputs, whether the result is
//   simulated and, for imported results, the name of the program that measured it.
// - lineage_id is like series_id without the versions of drivers and libraries. If there are GPUs,
//   it also omits the CPU model.
struct Identity {
  std::string series_json;
  std::string series_id;
  std::string lineage_id;
  std::string environment_json;
  std::string environment_id;
};

// The part of an identity that depends only on the environment (hardware, settings and software
// versions). Computed separately, because many results share an environment.
struct EnvironmentIdentity {
  explicit EnvironmentIdentity(const v1::Environment& environment);

  // Without versions of drivers and libraries, and without the CPU model if there are GPUs.
  std::string hardware_json;
  std::string json;
  std::string id;
};

// Returns the identity of the first measurement. `environment` must be that of `result`.
Identity IdentityOf(const v1::CaseResult& result, const EnvironmentIdentity& environment);
Identity IdentityOf(const v1::CaseResult& result);

}  // namespace assay::storage
