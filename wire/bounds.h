// Bounds on the messages of other machines. Much of what a peer sends is stored and sent on, so
// every text, list and map has a bound, and whatever is stored fits into a page of a list.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "common/reason.h"
#include "common/status.h"

namespace assay::schema {

// Checks the number of bytes of `message` and of every text in it, and the number of entries of
// every list and map. INVALID_ARGUMENT with `reason`; the violation's field is the path of the
// first one that is beyond its bound, or the type of `message`.
Status CheckBounds(const google::protobuf::Message& message, Reason reason);

// Cuts every text, list and map of `message` to its bound. For messages that must not be refused,
// such as the end of a job.
void CutToBounds(google::protobuf::Message& message);

// Returns true for a node's name: 1 to 200 printable ASCII characters without spaces at the ends.
// Other characters could make one name look like another.
bool IsNodeName(std::string_view name);

}  // namespace assay::schema
