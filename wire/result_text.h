// Short texts about what a result measured.
#pragma once

#include <set>
#include <string>

#include "assay/v1/result.pb.h"

namespace assay {

using Parameters = google::protobuf::Map<std::string, std::string>;

// Returns a short description of a benchmark case, such as "m=n=k=4096 bf16 layout=nt". Includes
// the parameters that identify the case and any that differ from their defaults. Omits the cache,
// fill and launch modes, which tables show as flags. The parameters in `varying` come first, so
// that narrow terminals do not cut them off.
std::string ParametersText(const Parameters& parameters, const std::set<std::string>& varying = {});
std::string ParametersText(const v1::CaseResult& run, const std::set<std::string>& varying = {});

// Returns the NCCL variables that were set: "NCCL_ALGO=Ring NCCL_PROTO=LL".
std::string NcclText(const v1::Environment& environment);

// Returns "TIMEOUT: took longer than 20m", or "no reason given". Printable.
std::string FailureText(const v1::Failure& failure);

}  // namespace assay
