// Keeps NCCL's log in memory, to explain failures.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Makes NCCL write its warnings, and its messages about start-up, environment and network, to a log
// in memory. Does nothing if the user has set NCCL_DEBUG. Call this before NCCL is loaded, and
// again in each child process, which has a log of its own.
void KeepNcclLog();

// Discards the lines written so far. NcclLogTail() returns only lines written after this call.
void BeginNcclLog();

// Returns at most `max_bytes` bytes of the log: its warnings, followed by its last lines. Returns
// an empty text if there is no log.
std::string NcclLogTail(size_t max_bytes);

}  // namespace assay
