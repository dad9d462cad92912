// What NCCL wrote about itself: kept in memory as long as the process lives, for the
// evidence of a failure.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Lets NCCL write its warnings and what it says of start-up, environment and network into
// the log, unless the user has set NCCL_DEBUG. Before NCCL is loaded. A process that this one
// starts may do so too: it has a log of its own.
void KeepNcclLog();

// From now on NcclLogTail() tells only what is written later.
void BeginNcclLog();

// At most `max_bytes` of the log: its warnings first, then its end. Empty without one.
std::string NcclLogTail(size_t max_bytes);

}  // namespace assay
