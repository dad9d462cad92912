// Renders what `assay deploy` did. No I/O.
#pragma once

#include <string>
#include <vector>

#include "cli/views/table.h"

namespace assay::cli {

struct DeployResult {
  enum class Outcome { kJoined, kSkipped, kFailed };

  std::string host;  // "[USER@]HOST[:PORT]"
  std::string node;  // Its name in the fleet.
  Outcome outcome = Outcome::kFailed;
  double seconds = 0;
  std::string message;  // Why it failed or was skipped.
};

std::string DeployText(const std::vector<DeployResult>& results, const Style& style);
std::string DeployCsv(const std::vector<DeployResult>& results);
std::string DeployJson(const std::vector<DeployResult>& results);

}  // namespace assay::cli
