// Serializes messages for hashes.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

namespace assay::schema {

// Returns the same bytes for equal messages, unlike SerializeToString, which orders maps freely.
std::string DeterministicBytes(const google::protobuf::MessageLite& message);

}  // namespace assay::schema
