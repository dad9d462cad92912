// `nccl: {NCCL_ALGO: Ring, NCCL_PROTO: LL128}` in a campaign file.
#pragma once

#include <google/protobuf/map.h>

#include <string>

#include "cli/campaign_file/field_reader.h"
#include "cli/campaign_file/yaml_tree.h"

namespace assay::cli {

// Adds the variables of the map `value` to `settings`, and their lines to `lines` under
// "SPEC_FIELD.NAME". Checks variables and values as the coordinator does. Reports faults at
// `field`.
void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines);

}  // namespace assay::cli
