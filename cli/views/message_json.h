// JSON for people's scripts: like ToJson, but with enum values as words and without unset fields.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace assay::cli {

// Converts `message` to one line of JSON. The keys are the field names in the .proto file. Enum
// values are lower-case words without their prefix, such as "regressed". Times are in RFC 3339
// format, in UTC, and maps are sorted by key. Omits unspecified enum values, absent messages,
// absent optional fields, and numbers that are not finite. Lists are always present.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace assay::cli
