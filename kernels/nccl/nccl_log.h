// NCCL's log, kept in memory during the process as evidence of failures.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Directs NCCL's warnings and its messages about start-up, environment and network into the log,
// unless the user has set NCCL_DEBUG. Must be called before NCCL is loaded. A child process that
// calls it has its own log.
void KeepNcclLog();

// Removes all lines written so far from NcclLogTail().
void BeginNcclLog();

// Returns at most `max_bytes` of the log: its warnings, then its end. Empty without a log.
std::string NcclLogTail(size_t max_bytes);

}  // namespace assay
