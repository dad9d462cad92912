// Parameters, metrics and work that the benchmarks of links share. Compiles without CUDA.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "host/numa.h"
#include "kernels/declaration.h"

namespace assay {

// Returns the parameter "numa": local (default), remote or any.
Parameter NumaParameter();

// Returns the NUMA node on which to allocate memory for a device that is attached to node `near`.
// `choice` is "local", "remote" or "any". Returns nullopt if the operating system may choose the
// node. Returns Unsupported() if this machine has no suitable node.
Result<std::optional<int>> ChooseNumaNode(const std::string& choice, std::optional<int> near,
                                          const NumaTopology& topology);

// Returns the parameters "ranks", "from" and "to". `from` and `to` complete "rank of the GPU ...".
std::vector<ParameterSpec> PairParameters(const std::string& from, const std::string& to);
// Checks that `from` and `to` are ranks.
Status ValidatePair(const ParameterMap& parameters);

// Distance of the elements of a chain of loads: no two share what a link or a cache transfers.
inline constexpr int64_t kChaseStride = 256;
// Loads per iteration: they take at least a millisecond, in which a launch is negligible.
inline constexpr int64_t kLinkChaseLoads = 4096;

// Returns the parameter "bytes", the working set of a chain of loads. `memory` completes "of ...".
Parameter ChaseBytesParameter(const std::string& memory);
// Returns the metric "latency", in nanoseconds per load.
std::vector<Metric> ChaseMetrics();
// Returns the work of a chain of loads over `link`.
Work ChaseWork(LinkKind link);

// Returns the work of one iteration of a copy benchmark. The iteration moves the number of bytes in
// the "bytes" parameter, or twice as many if the "direction" parameter is "bidirectional".
Work TransferWork(const ParameterMap& parameters, LinkKind link);
// Returns the parameter "bytes" of a copy; the default is `size`.
Parameter TransferBytesParameter(const std::string& size, int64_t most);
// Returns the metrics "bandwidth" of both directions together, one per direction, and "latency".
std::vector<Metric> TransferMetrics(const std::string& first, const std::string& first_means,
                                    const std::string& second, const std::string& second_means);

}  // namespace assay
