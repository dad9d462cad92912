// Size limits for messages from other machines. Much of what a peer sends is stored and passed on
// to others. For this reason, every text, list and map has a size limit, and every stored message
// fits into one page of a list response.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "common/reason.h"
#include "common/status.h"

namespace assay::schema {

// Checks the size of `message` and of every text, list and map in it. If any of them is too large,
// returns INVALID_ARGUMENT with `reason` and one violation. The violation contains the path of the
// first oversized field, or the type of `message` if the message is too large only as a whole.
Status CheckBounds(const google::protobuf::Message& message, Reason reason);

// Truncates every text, list and map in `message` to its size limit. Use this for messages that
// must not be rejected, such as the report that a job has finished.
void CutToBounds(google::protobuf::Message& message);

// Returns true if `name` is a valid node name: 1 to 200 printable ASCII characters without leading
// or trailing spaces. Other characters would allow different names to look the same.
bool IsNodeName(std::string_view name);

}  // namespace assay::schema
