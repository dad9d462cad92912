// What a result is of, in a few words.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// For each benchmark, the parameters with more than one value.
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::StoredResult>& results);

// "m=n=k=4096 bf16 layout=nt": parameters that say what was measured, and those that are not
// at their defaults; lanes (cache, fill, launch) have marks. Those of `varying` come first, so
// that a narrow terminal does not cut them off.
std::string ParametersText(const v1::CaseResult& run, const std::set<std::string>& varying = {});

// All of them, by name: "dtype=bf16;k=4096".
std::string ParametersCsv(const v1::CaseResult& run);

// "node-a", "node-a, node-b" or "node-a +3".
std::string NodesText(const v1::CaseResult& run);

// "4x H200 SXM".
std::string GpuText(const v1::Environment& environment);

// NCCL's variables: "NCCL_ALGO=Ring NCCL_PROTO=LL"; empty if none was set.
std::string NcclText(const v1::Environment& environment);

}  // namespace assay::cli
