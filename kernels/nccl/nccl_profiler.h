// The algorithm, protocol and channels that NCCL chose, as it reports them to profilers. This
// program is the profiler plugin. It listens only between StartNcclProfiler() and
// StopNcclProfiler().
#pragma once

#include <optional>
#include <string>

namespace assay {

// NCCL's choice for one call.
struct NcclChoice {
  std::string function;   // "AllReduce".
  std::string algorithm;  // "RING", "TREE", "NVLS", ...; "P2P" for send and receive.
  std::string protocol;   // "SIMPLE", "LL", "LL128"; empty for send and receive.
  int channels = 0;       // 0 if NCCL does not report it.
};

// Makes this program NCCL's profiler plugin unless the user has set another. Must be called before
// NCCL is loaded.
void OfferNcclProfiler();

// Starts to record NCCL's calls. Slows them down, so not for timed calls.
void StartNcclProfiler();

// Returns the last call since StartNcclProfiler(). Absent if this NCCL reports none (before 2.26)
// or the user has set another profiler.
std::optional<NcclChoice> StopNcclProfiler();

}  // namespace assay
