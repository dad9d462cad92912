// Descriptions of recorded nodes, which simulated nodes copy.
#pragma once

#include <string>

#include "assay/v1/inventory.pb.h"
#include "common/status.h"

namespace assay::agent {

// Returns the built-in profile `name` ("8x-h200", "8x-h100" or "cpu"), or reads the file of that
// name. A profile is protobuf text of a NodeDescription. The error of a damaged one names the line.
Result<v1::NodeDescription> LoadProfile(const std::string& name);

}  // namespace assay::agent
