// Serialises results, so that a replay can be recognised.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"

namespace assay::storage {

// Returns the same bytes for equal messages.
std::string DeterministicBytes(const google::protobuf::MessageLite& message);

// Returns the SHA-256, in hex, of the whole result. A replay has the same hash.
std::string PayloadHash(const v1::CaseResult& result);

}  // namespace assay::storage
