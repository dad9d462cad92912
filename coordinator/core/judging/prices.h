// Computes the prices of the parts of nodes that cases use.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "storage/analysis_store.h"

namespace assay::coordinator {

// The prices of cases. A case that uses, say, half of a node's GPUs costs half of the node's price.
class Prices {
 public:
  static Result<Prices> Read(const Environment& environment);

  // Returns the price of a case in US dollars per hour, prorated by how much of its nodes it uses.
  // Returns nullopt if the price is unknown.
  std::optional<double> PerHour(const v1::CaseIdentity& identity,
                                const storage::RunOrigin& origin) const;

 private:
  std::map<std::string, int> gpus_;  // By node id.
};

}  // namespace assay::coordinator
