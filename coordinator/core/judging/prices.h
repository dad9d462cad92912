// Prices of what cases use of their nodes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// Prices of places, by the numbers of GPUs of their nodes.
class Prices {
 public:
  static Result<Prices> Read(const Environment& environment);

  // Returns US dollars an hour for what the case uses of its nodes. nullopt if it is not known.
  std::optional<double> PerHour(const v1::CaseIdentity& identity,
                                const storage::RunOrigin& origin) const;

 private:
  std::map<std::string, int> gpus_;  // By node id.
};

}  // namespace assay::coordinator
