// A case's result as bytes: what makes a replay the same, and what is kept.
#pragma once

#include <string>

#include "assay/v1/result.pb.h"

namespace assay::storage {

// The same bytes for equal messages.
std::string DeterministicBytes(const google::protobuf::MessageLite& message);

// SHA-256, hex, of the whole result: two with one hash are replays of each other.
std::string PayloadHash(const v1::CaseResult& result);

}  // namespace assay::storage
