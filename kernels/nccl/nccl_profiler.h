// Finds out which algorithm and protocol NCCL chose for a collective, and how many channels. NCCL
// reveals this only to profiler plugins, so this program registers as one. Choices are recorded
// only between StartNcclProfiler() and StopNcclProfiler().
#pragma once

#include <optional>
#include <string>

namespace assay {

// The choices that NCCL made for one call.
struct NcclChoice {
  std::string function;   // "AllReduce".
  std::string algorithm;  // "RING", "TREE", "NVLS", ...; "P2P" for send and receive.
  std::string protocol;   // "SIMPLE", "LL", "LL128"; empty for send and receive.
  int channels = 0;       // 0 if NCCL does not report it.
};

// Registers this program as NCCL's profiler plugin, unless the user has selected another plugin.
// Must be called before NCCL is loaded.
void OfferNcclProfiler();

// Starts recording NCCL's calls. This slows them down, so do not use it while timing.
void StartNcclProfiler();

// Stops recording and returns NCCL's choice for the last call since StartNcclProfiler(). Returns
// nullopt if NCCL is older than 2.26 and thus does not report its choice, or if the user has
// selected another profiler plugin.
std::optional<NcclChoice> StopNcclProfiler();

}  // namespace assay
