#pragma once

namespace assay::coordinator::web {

// Returns the text of join.sh, in which the caller must replace placeholders such as @URL@.
const char* JoinScript();

}  // namespace assay::coordinator::web
