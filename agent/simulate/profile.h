// Descriptions of recorded nodes, which simulated nodes copy.
#pragma once

#include <array>
#include <string>

#include "assay/v1/inventory.pb.h"
#include "common/status.h"

namespace assay::agent {

// Text of profiles/*.textproto, which the build embeds.
struct EmbeddedProfile {
  const char* name;
  const char* text;
};
extern const std::array<EmbeddedProfile, 3> kProfiles;

// Returns the built-in profile `name` ("8x-h200", "8x-h100" or "cpu"), or reads the file of that
// name. A profile is a NodeDescription in protobuf text format. Syntax errors include the line
// number.
Result<v1::NodeDescription> LoadProfile(const std::string& name);

}  // namespace assay::agent
