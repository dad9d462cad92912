// Short texts about what a result measured.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "assay/v1/result_service.pb.h"
#include "wire/result_text.h"

namespace assay::cli {

// Return for each benchmark the parameters that have more than one value in `results` or `cases`.
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::StoredResult>& results);
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::CaseIdentity>& cases);

// Return all parameters by name: "dtype=bf16;k=4096".
std::string ParametersCsv(const Parameters& parameters);
std::string ParametersCsv(const v1::CaseResult& run);

// Return "node-a", "node-a, node-b" or "node-a +3".
std::string NodesText(const google::protobuf::RepeatedPtrField<std::string>& names);
std::string NodesText(const v1::CaseResult& run);

// Returns "4x H200 SXM".
std::string GpuText(const v1::Environment& environment);

}  // namespace assay::cli
