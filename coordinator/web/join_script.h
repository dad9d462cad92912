#pragma once

namespace assay::coordinator::web {

// Returns the text of join.sh, in which @URL@ and so on are still to be replaced.
const char* JoinScript();

}  // namespace assay::coordinator::web
