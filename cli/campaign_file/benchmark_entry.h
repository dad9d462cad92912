// The `benchmarks:` list of a campaign file.
#pragma once

#include "assay/v1/campaign_service.pb.h"
#include "cli/campaign_file/field_reader.h"
#include "cli/campaign_file/yaml_tree.h"

namespace assay::cli {

// Adds one v1::BenchmarkMatrix to `spec` per entry of the list `value`. An entry is `gemm`, or
// `gemm: {m: 4096, n: =m, dtype: [bf16, fp16], k: {from: 64, to: 4096, factor: 2}}`. The keys
// `gpus`, `counters`, `nccl` and `unplaceable` are not parameters.
void ReadBenchmarks(const YamlNode& value, FieldReader& reader, v1::CampaignSpec& spec);

// Reads `refuse` or `skip`. Returns UNSPECIFIED after a fault.
v1::Unplaceable ReadUnplaceable(const YamlNode& value, const std::string& field,
                                FieldReader& reader);

}  // namespace assay::cli
