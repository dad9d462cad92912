// NCCL's log, kept in memory during the process as evidence of failures.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Makes NCCL write its warnings, and its messages about start-up, environment and network, to a log
// in memory. Does nothing if the user has set NCCL_DEBUG. Call this before NCCL is loaded, and
// again in each child process, which has a log of its own.
void KeepNcclLog();

// Removes all lines written so far from NcclLogTail().
void BeginNcclLog();

// Returns at most `max_bytes` of the log: its warnings, then its end. Empty without a log.
std::string NcclLogTail(size_t max_bytes);

}  // namespace assay
