// Size limits for messages from other machines. Much of what a peer sends is stored and sent to
// others. Therefore every text, list and map has a limit, and everything that is stored fits into
// one page of a list response.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "common/reason.h"
#include "common/status.h"

namespace assay::schema {

// Checks the size of `message` and of every text, list and map in it. If a limit is exceeded,
// returns INVALID_ARGUMENT with `reason` and one violation. Its field is the path of the first
// field that is too large, or the type of `message` if the message as a whole is.
Status CheckBounds(const google::protobuf::Message& message, Reason reason);

// Truncates every text, list and map of `message` to its limit. Use this for messages that must not
// be refused, such as the report that a job has ended.
void CutToBounds(google::protobuf::Message& message);

// Returns true if `name` is a valid name of a node: 1 to 200 printable ASCII characters without
// spaces at the ends. With other characters, one name could look like another.
bool IsNodeName(std::string_view name);

}  // namespace assay::schema
