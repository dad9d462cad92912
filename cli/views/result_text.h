// Short texts about what a result measured.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "assay/v1/result_service.pb.h"

namespace assay::cli {

using Parameters = google::protobuf::Map<std::string, std::string>;

// Return for each benchmark the parameters that have more than one value in `results` or `cases`.
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::StoredResult>& results);
std::map<std::string, std::set<std::string>> FindVarying(
    const std::vector<v1::CaseIdentity>& cases);

// Returns a short description of a benchmark case, such as "m=n=k=4096 bf16 layout=nt". Includes
// the parameters that identify the case and those whose values differ from their defaults. Omits
// the cache, fill and launch modes, because tables show them as flags. The parameters in `varying`
// come first, so that a narrow terminal does not cut them off.
std::string ParametersText(const Parameters& parameters, const std::set<std::string>& varying = {});
std::string ParametersText(const v1::CaseResult& run, const std::set<std::string>& varying = {});

// Return all parameters by name: "dtype=bf16;k=4096".
std::string ParametersCsv(const Parameters& parameters);
std::string ParametersCsv(const v1::CaseResult& run);

// Return "node-a", "node-a, node-b" or "node-a +3".
std::string NodesText(const google::protobuf::RepeatedPtrField<std::string>& names);
std::string NodesText(const v1::CaseResult& run);

// Returns "4x H200 SXM".
std::string GpuText(const v1::Environment& environment);

// Returns the NCCL variables that were set: "NCCL_ALGO=Ring NCCL_PROTO=LL".
std::string NcclText(const v1::Environment& environment);

// Returns "TIMEOUT: took longer than 20m", or "no reason given". Printable.
std::string FailureText(const v1::Failure& failure);

}  // namespace assay::cli
