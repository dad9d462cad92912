// Keeps NCCL's log in memory, to explain failures.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Makes NCCL write its log to memory: warnings, and messages about start-up, environment and
// network. Does nothing if the user has set NCCL_DEBUG. Must be called before NCCL is loaded, and
// again in each child process, which has its own log.
void KeepNcclLog();

// Discards the lines written so far. NcclLogTail() returns only lines written after this call.
void BeginNcclLog();

// Returns up to `max_bytes` bytes of the log: its warnings, followed by its last lines. Returns
// an empty string if there is no log.
std::string NcclLogTail(size_t max_bytes);

}  // namespace assay
