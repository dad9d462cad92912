// The parameters, metrics and work that the benchmarks of links share. This file needs no CUDA.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "host/numa.h"
#include "kernels/declaration.h"

namespace assay {

// Returns the parameter "numa", which is "local" (the default), "remote" or "any".
Parameter NumaParameter();

// Returns the NUMA node on which to allocate memory for a device attached to node `near`, or
// nullopt if the operating system may choose. `choice` is "local", "remote" or "any". Returns
// Unsupported() if this machine has no suitable node.
Result<std::optional<int>> ChooseNumaNode(const std::string& choice, std::optional<int> near,
                                          const NumaTopology& topology);

// Returns the parameters "ranks", "from" and "to" of a benchmark between two GPUs. Each process has
// its own GPU and a number, its rank. The arguments `from` and `to` complete the descriptions of
// the parameters of the same name, which begin with "rank of the GPU".
std::vector<ParameterSpec> PairParameters(const std::string& from, const std::string& to);
// Checks that the parameters "from" and "to" are numbers of ranks.
Status ValidatePair(const ParameterMap& parameters);

// The distance in bytes between elements of a chain of pointers, large enough that no link or cache
// ever transfers two elements at once.
inline constexpr int64_t kChaseStride = 256;
// The number of loads per iteration. Together they take at least a millisecond, so the time of the
// kernel launch is negligible.
inline constexpr int64_t kLinkChaseLoads = 4096;

// Returns the parameter "bytes", the size of the memory occupied by a chain of pointers. `memory`
// names that memory in the parameter's description, after "bytes of".
Parameter ChaseBytesParameter(const std::string& memory);
// Returns the metric "latency", in nanoseconds per load.
std::vector<Metric> ChaseMetrics();
// Returns the work of following a chain of pointers over `link`.
Work ChaseWork(LinkKind link);

// Returns the work of one iteration of a copy benchmark, which moves as many bytes as the parameter
// "bytes" says, or twice as many if "direction" is "bidirectional".
Work TransferWork(const ParameterMap& parameters, LinkKind link);
// Returns the parameter "bytes" of a copy, which is at most `most` and by default `size`.
Parameter TransferBytesParameter(const std::string& size, int64_t most);
// Returns the metrics of a copy: "bandwidth" (both directions together), the bandwidth of each
// direction, and "latency".
std::vector<Metric> TransferMetrics(const std::string& first, const std::string& first_means,
                                    const std::string& second, const std::string& second_means);

}  // namespace assay
