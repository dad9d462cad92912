// Which algorithm, protocol and channels NCCL chose, as it tells profilers: this program
// is the plugin, which listens only while it is asked to.
#pragma once

#include <optional>
#include <string>

namespace assay {

// What NCCL did with one call.
struct NcclChoice {
  std::string function;   // "AllReduce".
  std::string algorithm;  // "RING", "TREE", "NVLS", ...; "P2P" for send and receive.
  std::string protocol;   // "SIMPLE", "LL", "LL128"; empty for send and receive.
  int channels = 0;       // 0 if NCCL does not tell.
};

// Names this program as NCCL's profiler plugin, unless the user has named another. Before
// NCCL is loaded.
void OfferNcclProfiler();

// From here on NCCL's calls are noted, until StopNcclProfiler(). Not for what is timed.
void StartNcclProfiler();

// The last call noted since StartNcclProfiler(); absent if this NCCL tells nothing (before
// 2.26) or another profiler was named.
std::optional<NcclChoice> StopNcclProfiler();

}  // namespace assay
